"""The metrics of functions and operators.

Owns: counters, gauges, meters, distributions, and the groups that name them.
Uses: ``common``.
Must not: send anything anywhere; the owner of an operator takes its snapshots.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.metrics.group import MetricGroup
    from flinkish.metrics.metrics import Counter, Distribution, Gauge, Meter, Metric
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.metrics.group": ("MetricGroup",),
            "flinkish.metrics.metrics": ("Counter", "Distribution", "Gauge", "Meter", "Metric"),
        },
    )

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]
