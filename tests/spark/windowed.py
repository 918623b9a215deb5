"""Windows that the tests run on Spark, and what the model makes of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flinkish.common import OutputTag
from flinkish.functions import BuiltInAggregate, BuiltInAggregates, ProcessWindowFunction
from flinkish.windowing import EventTimeSessionWindows, WindowAssigner
from tests.models.vector_windows import ModelWindows
from tests.models.window_operator import WindowModel
from tests.spark.support import watermarks

SPANS = "key string, begin bigint, end bigint, n array<bigint>"
LATE_ROWS = OutputTag("late", "key string, n bigint, ts timestamp")
SESSIONS = EventTimeSessionWindows.with_gap(1000)


class Spans(ProcessWindowFunction):
    """(key, start, end, sorted numbers)."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        window = context.window()
        yield key, window.start, window.end, sorted(row.n for row in elements)


def expected(model: WindowModel, batches: list[Any], bound: int) -> tuple[list[Any], list[Any]]:
    """What the model gives in each batch and in the trailing one, and which rows are late."""
    marks = watermarks([[row["at"] for row in rows] for rows in batches], bound)
    given = []
    for rows, mark in zip([*batches, []], marks, strict=True):
        if mark is not None:
            model.advance(mark)
        for row in rows:
            model.process(row["key"], row["n"], row["at"])
        given.append(model.take())
    return given, sorted(model.late)


def modelled(
    assigner: WindowAssigner,
    lateness: int,
    batches: list[list[dict[str, Any]]],
    marks: Sequence[int | None],
    *aggregates: BuiltInAggregate,
) -> tuple[list[list[Any]], list[tuple[str, int]]]:
    """Windows of aggregates: rows of each batch, which sees one of the marks; late rows' times."""
    model = ModelWindows(assigner, BuiltInAggregates(aggregates), lateness)
    given = []
    for rows, mark in zip(batches, marks, strict=True):
        if mark is not None:
            model.advance(mark)
        for row in rows:
            model.process(row["key"], row, row["at"])
        given.append(sorted((k, b, e, *results) for k, b, e, results in model.output))
        model.output.clear()
    return given, sorted((key, time) for key, _, time in model.late)
