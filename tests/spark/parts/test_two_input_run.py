"""A run of two inputs, without Spark: who is handed over when, in blocks of one and of both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.state.table import StateTable
from flinkish.functions import BroadcastProcessFunction, KeyedCoProcessFunction
from flinkish.operators.broadcast_definition import NonKeyedBroadcast
from flinkish.spark.keyed.packing import SETTINGS_GROUP, pack_table, packer
from flinkish.spark.keyed.placement import group_at
from flinkish.spark.keyed.plan import AFTER_WATERMARK, EVENT_TIME
from flinkish.spark.keyed.two_inputs import TwoInputRun, pack_rows_of_input
from flinkish.state import MapStateDescriptor
from tests.spark.fake_spark import SCHEMA, plan

OUT = pa.schema([("n", pa.int64())])
KEYS = 7


class Seen(KeyedCoProcessFunction):
    """Notes what it sees: input, key, n, time."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str, int, int]] = []

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.calls.append((1, ctx.get_current_key(), value.n, ctx.timestamp()))

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.calls.append((2, ctx.get_current_key(), value.n, ctx.timestamp()))


def element(number: int, n: int) -> tuple[int, str, int, int]:
    """Times of both inputs interleave: even ones are of the first, odd ones of the second."""
    return number, f"k{n % KEYS}", n, 2 * n + number - 1


def handed_over(tmp_path: Path, counts: tuple[int, int], order: str) -> list[Any]:
    """What the function sees of so many rows of each input, which all are in one key group."""
    function = Seen()
    second = plan(None, OUT, tmp_path, max_parallelism=1)
    both = plan(
        function,
        OUT,
        tmp_path,
        second=second,
        max_parallelism=1,
        timestamp_order=order == "timestamp",
    )
    payloads = []
    for number, count in enumerate(counts, 1):
        if count:
            _, keys, ns, times = zip(*(element(number, n) for n in range(count)), strict=True)
            at = pa.array(times, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
            table = pa.table([pa.array(keys), pa.array(ns), at], schema=SCHEMA)
            payloads += [bytes(p) + bytes([number]) for _, p in pack_table(both, table)]
    run = both.strategy.open_run(both, StateTable(0))
    assert isinstance(run, TwoInputRun)
    assert list(run.process(payloads, AFTER_WATERMARK)) == []
    run.close()
    return function.calls


@pytest.mark.parametrize("counts", [(0, 0), (5, 3), (1_500, 0), (0, 700), (700, 600), (512, 512)])
@pytest.mark.parametrize("order", ["arrival", "timestamp"])
def test_order(tmp_path: Path, counts: tuple[int, int], order: str) -> None:
    """Each element with its own key and time: the first input's before the second's, or by time."""
    wanted = [element(1, n) for n in range(counts[0])] + [element(2, n) for n in range(counts[1])]
    if order == "timestamp":
        wanted.sort(key=lambda one: one[3])
    assert handed_over(tmp_path, counts, order) == wanted


MOST = MapStateDescriptor("most")


class Above(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value.n > (ctx.get_broadcast_state(MOST).get("n") or 0):
            yield (value.n,)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(MOST).put("n", value.n)


def test_rows_without_keys(tmp_path: Path) -> None:
    """Those of a partition go to one copy of the state, broadcast ones to all."""
    settings: dict[str, Any] = {"max_parallelism": 3, "key_columns": (), "key_types": ()}
    second = plan(None, OUT, tmp_path, **settings)
    function = NonKeyedBroadcast(Above(), [MOST])
    both = plan(function, OUT, tmp_path, second=second, **settings)
    assert function.name == "Above", "errors name what the user wrote"

    def packed(number: int, ns: list[int]) -> list[tuple[int, bytes]]:
        at = pa.array([5] * len(ns), pa.timestamp("us", "UTC"))
        rows = pa.record_batch([pa.array(["k"] * len(ns)), pa.array(ns), at], schema=SCHEMA)
        one = both if number == 1 else second
        pack = packer(one, pack_rows_of_input(one, number), number)
        (batch,) = pack(iter([rows]))
        sent = [(group_at(row["slot"]), row["payload"]) for row in batch.to_pylist()]
        return [(group, payload) for group, payload in sent if group != SETTINGS_GROUP]

    elements, rules = packed(1, [3, 9, 4, 5]), packed(2, [7, 3])
    assert [group for group, _ in elements] == [0]
    assert [group for group, _ in rules] == [0, 1, 2]
    run = both.strategy.open_run(both, StateTable(0))
    run.begin(0, 0, 0)
    assert list(run.process([elements[0][1], rules[0][1]], AFTER_WATERMARK)) == []
    (result,) = run.take_outputs(AFTER_WATERMARK)
    assert result.rows is not None
    timed = OUT.append(pa.field(EVENT_TIME, pa.int64()))
    assert result.rows.schema == timed
    assert result.rows.column("n").to_pylist() == [9, 4, 5]
    assert run.counts.take()["rows"] == 6
    run.close()
