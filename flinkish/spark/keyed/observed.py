"""What operators have Spark observe: aggregates on the way in, numbers by name on the way out."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from flinkish.spark.keyed.result_rows import GAUGES, METRICS

__all__ = ["flat", "statistics", "sum_metrics"]

_KIND = "map<string,bigint>"
_OURS = "flinkish."


def sum_metrics(column: Column) -> Column:
    """The sums by name of JSON objects of integers, as an aggregate; Spark has none of maps."""
    return F.reduce(
        F.collect_list(F.from_json(column, _KIND)),
        F.create_map().cast(_KIND),
        lambda total, more: F.map_zip_with(
            total, more, lambda _, a, b: F.coalesce(a, F.lit(0)) + F.coalesce(b, F.lit(0))
        ),
    )


def statistics(query: StreamingQuery) -> dict[str, dict[str, int]]:
    """What each operator of a streaming query counted and holds: by its uid or name, then by name.

    Counters are summed over the batches that ``query.recentProgress`` still shows (Spark keeps
    ``spark.sql.streaming.numRecentProgressUpdates`` of them, 100 by default); a counter ``n`` that
    the function made is ``metrics.n``.  Gauges are those of the last batch that shows them.  It
    works on Spark Connect, too.
    """
    totals: dict[str, Counter[str]] = {}
    held: dict[str, dict[str, int]] = {}
    for progress in query.recentProgress:
        for name, observed in progress["observedMetrics"].items():
            if not name.startswith(_OURS):
                continue
            operator = name[len(_OURS) :]
            found = _by_name(observed)
            gauges = {name: found.pop(name) for name in GAUGES if name in found}
            totals.setdefault(operator, Counter()).update(flat(found))
            if None not in gauges.values():
                held[operator] = gauges
    return {operator: dict(total) | held.get(operator, {}) for operator, total in totals.items()}


def _by_name(observed: Any) -> dict[str, Any]:
    """Observed metrics by name; Spark Connect sends values and names apart."""
    fields = observed.asDict()
    if set(fields) == {"values", "schema"}:
        names = [field["name"] for field in fields["schema"]["fields"]]
        return dict(zip(names, fields["values"], strict=True))
    return dict(fields)


def flat(observed: dict[str, Any]) -> dict[str, int]:
    """Counters by name; the user's own, which Spark has as a map, as ``metrics.name``."""
    own = observed[METRICS] or {}
    if not isinstance(own, dict):  # a Row, in the progress of a query
        own = own.asDict()
    counted = {name: n or 0 for name, n in observed.items() if name != METRICS}
    return counted | {f"{METRICS}.{name}": n for name, n in own.items()}
