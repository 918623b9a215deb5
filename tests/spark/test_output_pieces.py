"""Output leaves a run in pieces, as it is made, on every path."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common import OutputTag
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.spark.keyed import output_pieces
from flinkish.spark.keyed.output_pieces import cut, outputs_of
from flinkish.spark.keyed.output_rows import read_payload
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import EVENT_TIME, MAIN
from flinkish.spark.keyed.processor import KeyGroupProcessor
from tests.spark.fake_spark import SCHEMA, FakeSpark, pack_rows, plan

OUT = pa.schema([("n", pa.int64()), ("text", pa.string())])
TIMED = OUT.append(pa.field(EVENT_TIME, pa.int64()))
SIDE = OutputTag("side", "n bigint, text string")
PIECE = 64 * 1024
ROWS = 3_000
TEXT = "x" * 500


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces that tests can fill."""
    monkeypatch.setattr(output_pieces, "PIECE_BYTES", PIECE)


class AtOnce(KeyedProcessFunction):
    """An output for each row, to both outputs in turn; a timer for each row."""

    calls = 0
    closed = 0

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        type(self).calls += 1
        ctx.timer_service().register_event_time_timer(10_000 + value.n)
        yield (value.n, TEXT) if value.n % 2 else (SIDE, (value.n, TEXT))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        type(self).calls += 1
        yield timestamp, TEXT

    def close(self) -> None:
        type(self).closed += 1


class AllInOneCall(KeyedProcessFunction):
    """All output in the call of one row."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from ((n, TEXT) for n in range(ROWS))


def results(
    processor: KeyGroupProcessor, spark: FakeSpark, rows: int, watermark: int = 0
) -> Iterator[Any]:
    """What the processor yields for rows of one key, as Spark would ask for it."""
    processor.init(spark)  # type: ignore[arg-type]
    times = SimpleNamespace(
        getCurrentWatermarkInMs=lambda: watermark, getCurrentProcessingTimeInMs=lambda: 1000
    )
    spark._enter(0)
    given = []
    if rows:
        at = pa.array([1000] * rows, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
        table = pa.table([pa.array(["k"] * rows), pa.array(range(rows)), at], schema=SCHEMA)
        operator = processor._plan
        given = [payload for _, payload in pack_rows(operator, table)]
    inputs = [SimpleNamespace(phase=1, part=0, seq=n, payload=one) for n, one in enumerate(given)]
    if not inputs:
        return processor.handleExpiredTimer((slot_of(0),), times, None)
    return processor.handleInputRows((slot_of(0),), iter(inputs), times)


def numbers(rows: list[Any], tag: str = MAIN) -> list[int]:
    """The numbers in an output; each payload is small."""
    found: list[int] = []
    for row in rows:
        if row.tag == tag:
            assert len(row.payload) < 2 * PIECE
            found += read_payload(row.payload, TIMED).column("n").to_pylist()
    return found


def test_rows_and_timers_give_their_output_as_it_is_made(tmp_path: Path) -> None:
    operator = plan(AtOnce(), OUT, tmp_path, max_parallelism=1)
    spark = FakeSpark()
    AtOnce.calls = 0
    found = results(KeyGroupProcessor(operator), spark, ROWS)
    first = next(found)
    assert AtOnce.calls < ROWS, "the first piece is out before the last row is in"
    rows = [first, *found]
    assert numbers(rows) == list(range(1, ROWS, 2))
    assert numbers(rows, "side") == list(range(0, ROWS, 2))
    AtOnce.calls = 0
    found = results(KeyGroupProcessor(operator), spark, 0, watermark=10_000 + ROWS)
    first = next(found)
    assert AtOnce.calls < ROWS, "the first piece is out before the last timer has fired"
    rows = [first, *found]
    assert numbers(rows) == [10_000 + n for n in range(ROWS)]
    assert rows[-1].timers_fired == ROWS


def test_output_of_one_call_is_cut(tmp_path: Path) -> None:
    operator = plan(AllInOneCall(), OUT, tmp_path, max_parallelism=1)
    rows = list(results(KeyGroupProcessor(operator), FakeSpark(), 1))
    assert numbers(rows) == list(range(ROWS))
    assert len(rows) > ROWS * len(TEXT) // PIECE


def test_an_iterator_that_spark_closes_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither state nor a table that a later task could take for the state."""
    operator = plan(AtOnce(), OUT, tmp_path, max_parallelism=1)
    spark = FakeSpark()
    AtOnce.closed = 0
    found = results(KeyGroupProcessor(operator), spark, ROWS)
    next(found)
    found.close()
    assert spark.state[0] == {"timers": set(), "log": {}}
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [".collected"], "when tables were last collected, and no table"
    assert AtOnce.closed == 1
    again = list(results(KeyGroupProcessor(operator), spark, ROWS))
    assert numbers(again) == list(range(1, ROWS, 2))


def test_pieces_of_outputs_of_all_sizes() -> None:
    texts = ["x" * size for size in (10, 3 * PIECE, 10, PIECE // 2, PIECE // 2, 10)]
    batch = pa.record_batch([pa.array(range(6)), pa.array(texts)], schema=OUT)
    pieces = list(cut(batch))
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([batch]))
    assert all(piece.nbytes <= PIECE or piece.num_rows == 1 for piece in pieces)
    small, large = (
        pa.record_batch([pa.array([1]), pa.array([text])], schema=OUT) for text in texts[:2]
    )
    assert outputs_of(large) == 1
    assert outputs_of(small) > 1000
