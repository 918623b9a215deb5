"""A run of two inputs, without Spark: who is handed over when, in blocks of one and of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.state_table import StateTable
from flinkish.functions import KeyedCoProcessFunction
from flinkish.spark.packing import pack_table
from flinkish.spark.runs import open_run
from flinkish.spark.two_inputs import TwoInputRun
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
    run = open_run(both, StateTable(0))
    assert isinstance(run, TwoInputRun)
    run.process(payloads)
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
