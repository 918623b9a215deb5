"""The row of counts that comes after the rows of an operator."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest

from flinkish.spark.internals import dumps, loads
from flinkish.spark.keyed.counted_rows import COUNTED, NUMBERS, OWN, Counts, counting
from flinkish.spark.keyed.result_rows import COUNTERS, GAUGES, REPORTS, Result

ROWS = pa.schema([("name", pa.string()), ("at", pa.timestamp("us", "UTC"))])
SCHEMA = ROWS.append(pa.field(NUMBERS, pa.list_(pa.int64()))).append(pa.field(OWN, pa.string()))

HELD = dict.fromkeys(GAUGES, 0) | {REPORTS: 8, "keys": 5}


def batch(*names: str) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array(names), pa.array([None] * len(names), ROWS.field("at").type)], schema=ROWS
    )


def counted(*results: Result, batches: int = 2) -> list[pa.RecordBatch]:
    """The rows of a worker whose run had these results, and gave so many batches."""
    counts = Counts()

    def run(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from found
        for result in results:
            counts.add(result)

    # As Spark sends it: the run and the row still have the same counts.
    function = loads(dumps(counting(run, SCHEMA, counts)))
    return list(function(iter([batch("a", "b")] * batches)))


def test_one_row_more_at_the_end() -> None:
    counters = dict.fromkeys(COUNTERS, 0)
    *rows, last = counted(
        Result(-1, counters=counters | {"rows": 2, "null_keys": 2}),
        Result(3, phase=1, tag="", rows=batch("a")),
        Result(-2, counters=counters | {"rows": 4}, gauges=HELD, metrics='{"own": 7}'),
    )
    assert [one.to_pylist() for one in rows] == [
        [dict.fromkeys(SCHEMA.names) | {"name": name} for name in "ab"]
    ] * 2
    (row,) = last.to_pylist()
    assert (row.pop("name"), row.pop("at")) == (None, None)
    assert json.loads(row.pop(OWN)) == {"own": 7}
    numbers = dict(zip(COUNTED, row.pop(NUMBERS), strict=True))
    assert not row
    assert {name: n for name, n in numbers.items() if n} == {
        "rows": 6,
        "null_keys": 2,
        REPORTS: 8,
        "keys": 5,
    }


@pytest.mark.parametrize("batches", [0, 1])
def test_all_batches_are_one_stream(batches: int) -> None:
    """Arrow writes a stream in the schema of its first batch."""
    found = counted(Result(0, counters=dict.fromkeys(COUNTERS, 1)), batches=batches)
    assert len(found) == batches + 1
    assert all(one.schema.equals(SCHEMA) for one in found)
    assert found[-1].column(OWN).to_pylist() == [None]
