"""What functions and operators count.

Owns: counters, gauges, meters, distributions, and the groups that name them.
Uses: ``common``.
Must not: send anything anywhere; whoever runs an operator takes its snapshots.
"""

from flinkish.metrics.group import MetricGroup
from flinkish.metrics.metrics import Counter, Distribution, Gauge, Meter, Metric

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]
