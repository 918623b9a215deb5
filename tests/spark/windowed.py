"""Windows that the tests run on Spark, and what the model makes of them."""

from collections.abc import Iterable, Iterator
from typing import Any

from flinkish.common import OutputTag
from flinkish.functions import ProcessWindowFunction
from flinkish.windowing import EventTimeSessionWindows
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
