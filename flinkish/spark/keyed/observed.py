"""Observed metrics of operators: aggregates on the way in, numbers by name on the way out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.counted_rows import COUNTED, NUMBERS, OWN, Counts, counting
from flinkish.spark.keyed.result_rows import COUNTERS, GAUGES, METRICS, REPORTS
from flinkish.spark.map_in_arrow import map_in_arrow
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.schemas import output_schema
from flinkish.spark.worker_heap import settling

__all__ = [
    "ObservedFrame",
    "by_observed_name",
    "flat",
    "observed_name",
    "statistics",
    "sum_metrics",
    "sums_of_counts",
]

_KIND = "map<string,bigint>"
_OURS = "flinkish."
_defined: dict[str, count[int]] = {}
_numbered: dict[str, str] = {}  # observed names with a number to names without


def observed_name(name: str, *, given: bool) -> str:
    """Under which name Spark observes an operator that is being defined.

    Spark refuses two of one name in a query, and `union` of DataFrames makes one query of several
    streams.  A name that the user has not given may come again, so it is numbered from the second
    operator on that this process defines.
    """
    number = 1 if given else next(_defined.setdefault(name, count(1)))
    if number == 1:
        return _OURS + name
    observed = f"{_OURS}{name}~{number}"
    _numbered[observed] = _OURS + name
    return observed


def sums_of_counts(
    max_parallelism: int | None, number: Callable[[str], Column] = F.col, own: str = METRICS
) -> list[Column]:
    """The sums that Spark observes of counters, and of gauges if there are so many key groups.

    ``number`` is the column of a counter or gauge by its name, ``own`` that of the user's counters.
    """
    sums = [F.sum(number(counter)).alias(counter) for counter in COUNTERS]
    sums.append(sum_metrics(F.col(own)).alias(METRICS))
    if max_parallelism is not None:
        # Null in a batch in which not all key groups were asked.
        asked = F.sum(number(REPORTS)) == max_parallelism
        sums += [F.when(asked, F.sum(number(gauge))).alias(gauge) for gauge in GAUGES]
    return sums


def sum_metrics(column: Column) -> Column:
    """The sums by name of JSON objects of integers, as an aggregate; Spark has none of maps."""
    return F.reduce(
        F.collect_list(F.from_json(column, _KIND)),
        F.create_map().cast(_KIND),
        lambda total, more: F.map_zip_with(
            total, more, lambda _, a, b: F.coalesce(a, F.lit(0)) + F.coalesce(b, F.lit(0))
        ),
    )


@dataclass(frozen=True)
class ObservedFrame(MappedFrame):
    """Rows of an operator whose run, the first function, adds to ``counts``.

    Spark observes them under ``name``, for an operator of ``max_parallelism``.
    """

    name: str = ""
    max_parallelism: int = 0
    counts: Counts | None = None

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as a DataFrame."""
        assert self.function is not None
        assert self.made is not None
        assert self.counts is not None
        columns = output_schema(self.made, "the rows")
        added = [StructField(NUMBERS, ArrayType(LongType())), StructField(OWN, StringType())]
        columns = StructType([*columns, *added])
        run = counting(self.function, arrow_schema(columns), self.counts)
        sums = sums_of_counts(
            self.max_parallelism, lambda name: F.col(NUMBERS)[COUNTED.index(name)], OWN
        )
        return (
            map_in_arrow(self.base, settling(run), columns)
            .observe(self.name, *sums)
            .where(F.col(NUMBERS).isNull())
            .drop(NUMBERS, OWN)
        )


def statistics(query: StreamingQuery) -> dict[str, dict[str, int]]:
    """Counters and gauges of each operator of a streaming query: by its uid or name, then by name.

    Counters are summed over the batches that ``query.recentProgress`` still shows (Spark keeps
    ``spark.sql.streaming.numRecentProgressUpdates`` of them, 100 by default); a counter ``n`` that
    the function made is ``metrics.n``.  Gauges are those of the last batch that shows them.
    Operators without a name of their own that share one in the query are ``<name>~<number>``, as
    all numbered ones are to another process than the one that defined them.  It works on Spark
    Connect, too.
    """
    found = by_observed_name(query)
    plain = {name: _numbered.get(name, name) for name in found}
    shared = Counter(plain.values())
    names = {name: name if shared[short] > 1 else short for name, short in plain.items()}
    return {names[name][len(_OURS) :]: counted for name, counted in found.items()}


def by_observed_name(query: StreamingQuery) -> dict[str, dict[str, int]]:
    """The same by `observed_name`."""
    totals: dict[str, Counter[str]] = {}
    held: dict[str, dict[str, int]] = {}
    for progress in query.recentProgress:
        for name, observed in progress["observedMetrics"].items():
            if not name.startswith(_OURS):
                continue
            found = _by_name(observed)
            gauges = {gauge: found.pop(gauge) for gauge in GAUGES if gauge in found}
            totals.setdefault(name, Counter()).update(flat(found))
            if None not in gauges.values():
                held[name] = gauges
    return {name: dict(total) | held.get(name, {}) for name, total in totals.items()}


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
