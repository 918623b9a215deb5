"""PyFlink's module of metrics."""

from flinkish.metrics.group import MetricGroup
from flinkish.metrics.metrics import Counter, Distribution, Gauge, Meter, Metric

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]
