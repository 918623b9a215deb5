"""What operators have Spark observe: aggregates on the way in, numbers by name on the way out."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from flinkish.spark.result_rows import METRICS

__all__ = ["by_name", "flat", "sum_metrics"]

_KIND = "map<string,bigint>"


def sum_metrics(column: Column) -> Column:
    """The sums by name of JSON objects of integers, as an aggregate; Spark has none of maps."""
    return F.reduce(
        F.collect_list(F.from_json(column, _KIND)),
        F.create_map().cast(_KIND),
        lambda total, more: F.map_zip_with(
            total, more, lambda _, a, b: F.coalesce(a, F.lit(0)) + F.coalesce(b, F.lit(0))
        ),
    )


def by_name(observed: Any) -> dict[str, Any]:
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
