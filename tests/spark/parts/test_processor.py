"""The processor, called as Spark calls it, in one process."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common import OutputTag
from flinkish.common.errors import (
    CorruptStateError,
    NullKeyError,
    SchemaMismatchError,
    TimestampError,
)
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.spark.internals import dumps, loads
from flinkish.spark.keyed.group_state import HEAD, Head
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.keyed.processor import KeyGroupProcessor
from flinkish.spark.keyed.result_rows import GAUGES
from flinkish.spark.pickling import Sealed
from tests.spark.fake_spark import FakeSpark, plan

NOBODY = OutputTag("nobody", "key string, n bigint, ts timestamp")
OUT = pa.schema([("key", pa.string()), ("what", pa.string()), ("at", pa.int64())])


class Alarm(KeyedProcessFunction):
    """A timer as long after each row as the row says."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + value.n)
        yield value.key, "row", ctx.timestamp()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), "timer", timestamp


class Failing(KeyedProcessFunction):
    """Fails in a row, and when it is closed."""

    closed = 0

    def process_element(self, value: Any, ctx: Any) -> Any:
        raise ValueError(value.key)

    def close(self) -> None:
        type(self).closed += 1
        raise OSError("there is nothing to close")


def timers(spark: FakeSpark) -> list[set[int]]:
    return [state["timers"] for state in spark.state.values()]


def test_rows_without_a_key(tmp_path: Path) -> None:
    rows = [("a", 1, 1000), (None, 2, 2000), (None, 3, 3000)]
    spark = FakeSpark()
    with pytest.raises(NullKeyError, match="2 rows have no key in key, the first of them"):
        spark.batch(plan(Alarm(), OUT, tmp_path), rows, 0)
    dropping = plan(Alarm(), OUT, tmp_path, null_keys="drop")
    assert spark.batch(dropping, rows, 0) == [("a", "row", 1000)]
    assert (spark.counters["null_keys"], spark.counters["rows"]) == (2, 1)
    assert list(spark.state) != [-1], "and they take up no state"
    routing = plan(Alarm(), OUT, tmp_path, null_keys=NOBODY)
    nobody = pa.schema([("key", pa.string()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
    found = spark.batch(routing, rows, 0, take=("nobody", nobody))
    assert [(key, n, at.timestamp()) for key, n, at in found] == [(None, 2, 2.0), (None, 3, 3.0)]


def test_a_function_that_fails_is_closed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a") as failed:
        FakeSpark().batch(plan(Failing(), OUT, tmp_path, max_parallelism=1), [("a", 1, 1000)], 0)
    assert Failing.closed == 1
    assert failed.value.__notes__ == [
        "close() raised, too: OSError('there is nothing to close')",
        "raised in operator 'operator' (Failing), key group 0, for the key 'a', "
        "timestamp 1000 (1970-01-01 00:00:01+00:00), "
        "element Row(key='a', n=1, ts=datetime.datetime("
        "1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc))",
    ]


class Unopened(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        raise OSError("no such service")

    def process_element(self, value: Any, ctx: Any) -> Any:
        raise AssertionError


def test_a_function_that_does_not_open_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no such service") as failed:
        FakeSpark().batch(plan(Unopened(), OUT, tmp_path), [("a", 1, 1000)], 0)
    assert failed.value.__notes__ == ["raised in operator 'operator' (Unopened), as it was opened"]


class Misfit(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.key, "row", value.n if value.n == 2 else 0


def test_an_output_that_does_not_fit_has_a_time(tmp_path: Path) -> None:
    out = pa.schema([("key", pa.string()), ("what", pa.string()), ("n", pa.bool_())])
    rows = [("a", 2, 1000), ("a", 1, 2000)]
    with pytest.raises(SchemaMismatchError, match="was given") as failed:
        FakeSpark().batch(plan(Misfit(), out, tmp_path, max_parallelism=1), rows, 0)
    note = failed.value.__notes__[0]
    assert note == "the row that does not fit has the event time 1000 (1970-01-01 00:00:01+00:00)"


def test_a_value_is_not_imported_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's process beside the driver unpickles processors where modules of users are missing."""
    (tmp_path / "sent_alone.py").write_text("class Kind:\n    n = 3\n")
    with monkeypatch.context() as here:
        here.syspath_prepend(tmp_path)
        sealed = dumps(Sealed(importlib.import_module("sent_alone").Kind()))
        del sys.modules["sent_alone"]
    again = dumps(loads(sealed))
    with pytest.raises(ModuleNotFoundError, match="sent_alone"):
        loads(again).open()
    monkeypatch.syspath_prepend(tmp_path)
    assert loads(again).open().n == 3
    del sys.modules["sent_alone"]


def test_a_group_has_one_timer_at_or_before_its_earliest(tmp_path: Path) -> None:
    operator = plan(Alarm(), OUT, tmp_path, max_parallelism=1)
    spark = FakeSpark()
    spark.batch(operator, [("a", 5000, 1000), ("b", 9000, 1000)], 0)
    assert timers(spark) == [{6001}], "Flink's 6000 is over when Spark's watermark is 6001"
    spark.batch(operator, [("c", 2000, 1000)], 0)
    assert timers(spark) == [{3001}]
    assert spark.batch(operator, [], 3000) == []
    assert spark.batch(operator, [], 3001) == [("c", "timer", 3000)]
    assert timers(spark) == [{6001}]
    # With rows the group is called once, and its timers come first.
    found = spark.batch(operator, [("a", 1, 8000)], 6500)
    assert found == [("a", "timer", 6000), ("a", "row", 8000)]
    assert timers(spark) == [{8002}]
    assert spark.batch(operator, [], 20_000) == [("a", "timer", 8001), ("b", "timer", 10_000)]
    assert timers(spark) == [set()]


def test_timers_that_are_late_already_fire_with_the_next_watermark(tmp_path: Path) -> None:
    operator = plan(Alarm(), OUT, tmp_path, max_parallelism=1)
    spark = FakeSpark()
    assert spark.batch(operator, [("a", -500, 1000)], 5000) == [("a", "row", 1000)]
    assert timers(spark) == [{5001}], "Flink: B.8, a timer in the past waits for the watermark"
    assert spark.batch(operator, [], 5001) == [("a", "timer", 500)]


def test_times_at_the_ends_of_the_range(tmp_path: Path) -> None:
    operator = plan(Alarm(), OUT, tmp_path, max_parallelism=1)
    spark = FakeSpark()
    spark.batch(operator, [("a", 2**63 - 1 - 1000, 1000)], 0)
    assert timers(spark) == [{2**63 - 1}]
    assert spark.batch(operator, [("b", 0, 1000)], 2000) == [("b", "row", 1000)]


class Times(KeyedProcessFunction):
    """Shows the times of rows as it sees them."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.key, str(value.ts.timestamp()), ctx.timestamp()


def test_the_order_of_rows(tmp_path: Path) -> None:
    rows = [("a", 1, 9000), ("a", 2, 4000), ("b", 3, 4000), ("a", 4, 4000)]
    wanted = [("a", "9.0", 9000), ("a", "4.0", 4000), ("b", "4.0", 4000), ("a", "4.0", 4000)]
    for in_order in (False, True):
        operator = plan(Times(), OUT, tmp_path, max_parallelism=1, timestamp_order=in_order)
        spark = FakeSpark()
        assert spark.batch(operator, rows, 5000) == (
            wanted[1:] + wanted[:1] if in_order else wanted
        )
        assert spark.counters["late_rows"] == 3


def test_rows_without_a_time(tmp_path: Path) -> None:
    rows = [("a", 1, 9000), ("a", 2, None), ("b", 3, None)]
    with pytest.raises(TimestampError, match=r"2 rows have no event time in the column 'ts', .* 2"):
        FakeSpark().batch(plan(Times(), OUT, tmp_path), rows, 0)


def test_what_is_wrong_with_a_later_key_group_is_said(tmp_path: Path) -> None:
    """Before its first row, when the last key is one of the group before."""
    rows = [(f"k{n}", 1, 1000) for n in range(20)]
    spark = FakeSpark()
    spark.batch(plan(Alarm(), OUT, tmp_path / "one"), rows, 0)
    groups = sorted(spark.state)
    assert len(groups) > 2
    pieces = spark.state[groups[-1]]["log"]
    for sequence in pieces:
        if sequence != (-1,):
            pieces[sequence] = (b"\0" * len(pieces[sequence][0]), False)
    with pytest.raises(CorruptStateError, match="state of operator 'operator' cannot be read") as e:
        spark.batch(plan(Alarm(), OUT, tmp_path / "other"), rows, 0)
    assert f"(Alarm), key group {groups[-1]}" in "".join(e.value.__notes__)
    assert "for the key" not in "".join(e.value.__notes__)


def asked(spark: FakeSpark, operator: OperatorPlan, group: int, at: int = 0) -> dict[str, int]:
    """What a key group without rows says in a batch of its own, its due timers fired."""
    processor = KeyGroupProcessor(operator)
    processor.init(spark)  # type: ignore[arg-type]
    spark.current = spark.state.setdefault(group, {"timers": set(), "log": {}})
    row = SimpleNamespace(phase=0, part=0, seq=-1, payload=b"")
    key, times = (slot_of(group),), spark.times(at)
    results = [*processor.handleInputRows(key, iter([row]), times)]
    for due in [timer for timer in spark.current["timers"] if timer <= at]:
        results += processor.handleExpiredTimer(key, times, None)
        spark.current["timers"].discard(due)
    processor.close()
    reports = [found for result in results if (found := result.asDict())["reports"] is not None]
    return {name: sum(report[name] for report in reports) for name in ("reports", *GAUGES)}


def test_groups_say_once_in_a_batch_what_they_hold(tmp_path: Path) -> None:
    spark, operator = FakeSpark(), plan(Alarm(), OUT, tmp_path)
    spark.batch(operator, [("a", 100, 1000)], 0)
    (group,) = spark.state
    held = asked(spark, operator, group)
    assert held["log_bytes"] > 0
    counts = ("reports", "key_groups", "event_timers", "processing_timers")
    assert [held[name] for name in counts] == [1, 1, 1, 0]
    # Asked, and then called for its timer: the sum is what it holds after that.
    fired = asked(spark, operator, group, at=5000)
    assert [fired[name] for name in counts] == [1, 1, 0, 0]
    nothing = asked(spark, operator, (group + 1) % 4)
    assert nothing == dict.fromkeys(nothing, 0) | {"reports": 1}


def test_a_group_of_an_older_flinkish_looks_what_it_holds(tmp_path: Path) -> None:
    spark, operator = FakeSpark(), plan(Alarm(), OUT, tmp_path)
    spark.batch(operator, [("a", 100, 1000)], 0)
    (group,) = spark.state
    held = asked(spark, operator, group)
    log = spark.state[group]["log"]
    head = Head.decode(log[HEAD][0], group)
    log[HEAD] = (replace(head, keys=None, event_timers=0, table_bytes=0).encode(group), False)
    assert asked(spark, operator, group)["event_timers"] == held["event_timers"] == 1
    assert Head.decode(log[HEAD][0], group).keys == head.keys
