"""The key groups of a real-time task that are open at once, over one run of the operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common import Types
from flinkish.common.errors import IllegalStateError, SchemaMismatchError
from flinkish.common.output_tag import OutputTag
from flinkish.functions import KeyedProcessFunction
from flinkish.spark.channels import Channel
from flinkish.spark.keyed.output_rows import AllOutputsReader
from flinkish.spark.keyed.plan import EVENT_TIME, MAIN, MARK, PHASE, OperatorPlan
from flinkish.state import ValueStateDescriptor
from flinkish.time import assign_to_key_group
from tests.spark.fake_spark import plan
from tests.spark.parts.live_task import OUT, Live, hello, mark, rows


class Fits(KeyedProcessFunction):
    """Gives a text where an int was declared, for one key."""

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield value.key, "row", "many" if value.key == "bad" else value.n


def test_an_output_that_does_not_fit_is_of_its_own_key_group(
    tmp_path: Path, place: Callable[..., None]
) -> None:
    """Outputs of all key groups become columns together."""
    place(0, None)
    task = Live(one_task(Fits(), tmp_path), tasks=1)
    sent = rows(("a", 1, 5), ("bad", 2, 6), ("b", 3, 7), ("c", 4, 8))
    task.send(hello(0), sent)
    group = assign_to_key_group("bad", 8)
    with pytest.raises(SchemaMismatchError, match="'many'") as caught:
        task.end()
    notes = "\n".join(caught.value.__notes__)
    assert f"(Fits), key group {group}, for the key 'bad'" in notes
    assert "1970-01-01 00:00:00.006" in notes


class Opened(KeyedProcessFunction):
    """Says how often functions were opened; a timer of the key "bad" fails."""

    times = 0

    def open(self, context: Any) -> None:
        Opened.times += 1
        self.n = context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        self.n.update((self.n.value() or 0) + 1)
        context.timer_service().register_event_time_timer(context.timestamp())
        yield value.key, "row", self.n.value()

    def on_timer(self, timestamp: int, context: Any) -> None:
        if context.get_current_key() == "bad":
            raise RuntimeError("bad")


def one_task(function: KeyedProcessFunction, folder: Path, **changes: Any) -> OperatorPlan:
    fields = {"partitions": 1, "channels": (Channel(0),), "streaming": True, "real_time": True}
    fields |= {"max_parallelism": 8}
    return plan(function, OUT, folder / "tables", **(fields | changes))


def test_functions_are_opened_once_a_task(tmp_path: Path, place: Callable[..., None]) -> None:
    """Not once for each of its key groups, of which rows of the same turn have other states."""
    place(0, None)
    Opened.times = 0
    task = Live(one_task(Opened(), tmp_path), tasks=1)
    keys = "abcdefgh"
    for turn in (1, 2):
        task.send(hello(0), rows(*((key, 1, 5) for key in keys)))
        assert [task.next()[0][2] for _ in keys] == [turn] * len(keys)
    task.end()
    assert Opened.times == 1
    assert len({assign_to_key_group(key, 8) for key in keys}) > 2


def test_an_error_of_a_timer_is_of_its_key_group(
    tmp_path: Path, place: Callable[..., None]
) -> None:
    place(0, None)
    task = Live(one_task(Opened(), tmp_path), tasks=1)
    task.send(hello(0), rows(("a", 1, 5), ("bad", 2, 6), ("c", 3, 5)), mark(0, 8))
    with pytest.raises(RuntimeError, match="bad") as caught:
        task.end()
    notes = "\n".join(caught.value.__notes__)
    group = assign_to_key_group("bad", 8)
    assert f"(Opened), key group {group}, for the key 'bad', timestamp 6 " in notes


def test_a_row_of_another_partition_is_refused(tmp_path: Path, place: Callable[..., None]) -> None:
    """Its key has another hash in the JVM than in Python."""
    place(0, None)
    key = next(key for key in "abcdefgh" if assign_to_key_group(key, 8) % 2)
    task = Live(one_task(Opened(), tmp_path, partitions=2), tasks=1)
    task.send(hello(0), rows((key, 1, 5)))
    with pytest.raises(IllegalStateError, match="another partition than its own, which is 0 of 2"):
        task.end()
    assert not list((tmp_path / "flinkish").rglob("*.state"))


EVEN = OutputTag("even", Types.ROW_NAMED(["n"], [Types.LONG()]))
COLUMNS = pa.schema([("main", pa.struct(list(OUT))), ("even", pa.struct([("n", pa.int64())]))])


class Even(KeyedProcessFunction):
    """Puts even numbers aside; a text, where a number was declared, of 8."""

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield value.key, "row", value.n
        if value.n % 2 == 0:
            yield EVEN, ("many" if value.n == 8 else value.n,)


def all_outputs() -> AllOutputsReader:
    schemas = {MAIN: OUT, "even": pa.schema([("n", pa.int64())])}
    return AllOutputsReader(schemas, COLUMNS, marks=True)


def test_several_outputs_come_from_one_run(tmp_path: Path, place: Callable[..., None]) -> None:
    """Each row is of one output, or a mark, which is of none."""
    place(0, None)
    task = Live(one_task(Even(), tmp_path), tasks=1, reader=all_outputs())
    task.send(hello(0), rows(("a", 1, 5), ("b", 2, 6), ("a", 4, 7)), mark(0, 7))
    found = task.batches()
    assert sorted(row["main"]["n"] for row in found if row["main"]) == [1, 2, 4]
    even = [(row["even"]["n"], row[EVENT_TIME], row[PHASE]) for row in found if row["even"]]
    assert sorted(even) == [(2, 6, 1), (4, 7, 1)]
    (marked,) = [row for row in found if not (row["main"] or row["even"])]
    assert (marked[EVENT_TIME], marked[PHASE]) == (6, MARK)


def test_a_side_output_that_does_not_fit(tmp_path: Path, place: Callable[..., None]) -> None:
    place(0, None)
    task = Live(one_task(Even(), tmp_path), tasks=1, reader=all_outputs())
    task.send(hello(0), rows(("a", 1, 5), ("b", 8, 6)))
    with pytest.raises(SchemaMismatchError, match="side output 'even'") as caught:
        task.batches()
    notes = "\n".join(caught.value.__notes__)
    assert "event time 6 " in notes
    assert "raised in operator 'operator' (Even)" in notes
    assert "key group" not in notes, "values of several key groups were taken together"
