"""Programs with side outputs, forks, and several inputs, in both modes."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Time, Types, WatermarkStrategy
from flinkish.common.errors import JobExecutionError
from flinkish.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.datastream.window import TumblingEventTimeWindows
from tests.spark.programs.example_functions import (
    CHEAP,
    DEAR,
    LIMITS,
    NAMED,
    OBJECTS,
    SALE,
    SPAN,
    CoSorted,
    Joined,
    KeyedLimited,
    KeyedSorted,
    Limited,
    Logs,
    SaleTime,
    Sorted,
    Spans,
    Stamped,
    Waiting,
    Words,
    Writes,
    calls,
    gathered,
    note,
)
from tests.spark.support import raises

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SaleTime())
SALES = [(1, "a", 2), (2, "b", 20), (3, "a", 4)]
LIMIT_OF = [("a", 3), ("b", 30)]


def timed(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(SALES, SALE).assign_timestamps_and_watermarks(MONOTONOUS)


def numbers(env: StreamExecutionEnvironment, *given: int) -> DataStream:
    return env.from_collection(given, Types.LONG())


def name_of(pair: Any) -> Any:
    return pair[0]


def shop_of(sale: Any) -> Any:
    return sale[1]


# --- side outputs


def test_one_call_for_all_side_outputs(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    made = numbers(env, 1, 2, 3, 4).process(Sorted(log), Types.LONG())
    made.add_sink(Logs(tmp_path / "main"))
    for tag in (CHEAP, DEAR, OBJECTS):
        made.get_side_output(tag).add_sink(Logs(tmp_path / tag.tag_id))
    env.execute()
    assert calls(log) == ["1", "2", "3", "4"]
    assert calls(tmp_path / "main") == [f"{value} at None" for value in (1, 2, 3, 4)]
    assert calls(tmp_path / "cheap") == ["cheap 1 at None", "cheap 2 at None"]
    assert calls(tmp_path / "dear") == ["('dear', 3) at None", "('dear', 4) at None"]
    assert calls(tmp_path / "objects") == ["{'price': 3} at None", "{'price': 4} at None"]


def test_side_outputs_that_are_read_alone_twice_or_not(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    made = numbers(env, 1, 5).process(Sorted(log), Types.LONG())
    assert gathered(made) == [1, 5]
    assert gathered(made.get_side_output(DEAR)) == [("dear", 5)]
    assert calls(log) == ["1", "1", "5", "5"]  # two jobs
    log.unlink()
    twice = made.get_side_output(CHEAP).union(made.get_side_output(CHEAP))
    assert gathered(twice) == ["cheap 1", "cheap 1"]
    assert calls(log) == ["1", "5"]


def test_side_outputs_by_key_and_of_timers(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """B.25: results have the time of their element, those of a timer the timer's time."""
    log = tmp_path / "calls"
    made = timed(env).key_by(shop_of, Types.STRING()).process(KeyedSorted(log), SALE)
    made.process(Stamped()).add_sink(Logs(tmp_path / "main"))
    made.get_side_output(CHEAP).process(Stamped()).add_sink(Logs(tmp_path / "cheap"))
    made.get_side_output(DEAR).process(Stamped()).add_sink(Logs(tmp_path / "dear"))
    env.execute()
    assert calls(log) == ["1", "2", "3"]
    assert calls(tmp_path / "main") == [f"({sale}, {sale[0]}) at {sale[0]}" for sale in SALES]
    assert calls(tmp_path / "cheap") == [
        *[f"('{name} {at}', {at}) at {at}" for at, name, _ in sorted(SALES, key=shop_of)]
    ]
    assert calls(tmp_path / "dear") == ["(('a', 10), 10) at 10", "(('b', 10), 10) at 10"]


def test_side_outputs_of_two_streams(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    both = numbers(env, 1, 2).connect(env.from_collection(["x"], Types.STRING()))
    made = both.process(CoSorted(log), Types.LONG())
    made.add_sink(Logs(tmp_path / "main"))
    made.get_side_output(CHEAP).add_sink(Logs(tmp_path / "cheap"))
    env.execute()
    assert calls(log) == ["one 1", "one 2", "two x"]
    assert calls(tmp_path / "main") == ["1 at None", "2 at None"]
    assert calls(tmp_path / "cheap") == ["x at None"]


# --- forks


@pytest.mark.parametrize("keyed", [False, True])
def test_a_function_before_a_fork_runs_once(
    env: StreamExecutionEnvironment, tmp_path: Path, keyed: bool
) -> None:
    """Both branches see the same result of a function that gives another one each time."""
    log = tmp_path / "calls"

    def named(value: int) -> tuple[str, int]:
        note(log, value)
        return uuid.uuid4().hex, value

    given = numbers(env, 1, 2, 3)
    made = given.key_by(lambda value: value).map(named, NAMED) if keyed else given.map(named, NAMED)
    left = made.map(name_of, Types.STRING())
    right = made.filter(lambda pair: pair[1] > 0).map(name_of, Types.STRING())
    both = left.union(right).map(lambda name: (name, 1), NAMED).key_by(name_of).sum(1)
    counts = [pair[1] for pair in gathered(both) if pair[1] == 2]
    assert counts == [2, 2, 2]
    assert calls(log) == ["1", "2", "3"]


def test_a_stream_with_itself(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    log = tmp_path / "calls"

    def seen(value: int) -> int:
        note(log, value)
        return value

    stream = numbers(env, 1, 2).map(seen, Types.LONG())
    assert gathered(stream.union(stream)) == [1, 1, 2, 2]
    assert calls(log) == ["1", "2"]
    pairs = stream.map(lambda value: ("all", value), NAMED)
    joined = pairs.connect(pairs).key_by(name_of, name_of).process(Joined())
    assert gathered(joined) == [("all", a, b) for a in (1, 2) for b in (1, 2)]


# --- several inputs


def test_a_join_of_two_streams(env: StreamExecutionEnvironment) -> None:
    """Each pair once, whichever stream is read first."""
    prices = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("c", 4)], NAMED)
    amounts = env.from_collection([("b", 20), ("a", 10), ("d", 40)], NAMED)
    expected = [("a", 1, 10), ("a", 3, 10), ("b", 2, 20)]
    after = prices.connect(amounts).key_by(name_of, name_of, Types.STRING()).process(Joined())
    assert gathered(after) == expected
    before = prices.key_by(name_of, Types.STRING()).connect(amounts.key_by(name_of, Types.STRING()))
    assert gathered(before.process(Joined())) == expected


def test_timers_after_both_streams(env: StreamExecutionEnvironment) -> None:
    """A stream without event time holds the watermark back, up to the end of both."""
    other = env.from_collection([("a", 0), ("a", 0)], NAMED)
    both = timed(env).connect(other).key_by(shop_of, name_of).process(Waiting())
    assert gathered(both) == [("a", 101, 22), ("a", 103, 22), ("b", 102, 1)]


def test_two_streams_without_keys(env: StreamExecutionEnvironment) -> None:
    """Streams of different types, by one function for words and numbers."""
    words = env.from_collection(["to be", "or"], Types.STRING())
    made = words.connect(numbers(env, 2, 0, 1)).flat_map(Words(), Types.STRING())
    assert gathered(made) == ["1", "2", "2", "be", "or", "to"]


def test_broadcast_without_keys(env: StreamExecutionEnvironment) -> None:
    limits = env.from_collection(LIMIT_OF, NAMED).broadcast(LIMITS)
    pairs = env.from_collection([("a", 2), ("c", 1), ("b", 3)], NAMED)
    made = pairs.connect(limits).process(Limited(), NAMED)
    assert gathered(made) == [("a 2", 3), ("b 3", 30), ("c 1", None)]
    with raises(JobExecutionError, match="put"):
        gathered(pairs.connect(limits).process(Writes(), NAMED))


def test_broadcast_to_keys_with_timers(env: StreamExecutionEnvironment) -> None:
    limits = env.from_collection(LIMIT_OF, NAMED).broadcast(LIMITS)
    made = timed(env).key_by(shop_of, Types.STRING()).connect(limits).process(KeyedLimited())
    assert gathered(made) == [("a", 1, 3), ("b", 0, 30)]


def test_a_union_before_windows(env: StreamExecutionEnvironment) -> None:
    """Both with event time: windows have elements of both, whatever their order."""
    later = env.from_collection([(9, "a", 1), (4, "b", 1), (12, "b", 1)], SALE)
    both = timed(env).union(later.assign_timestamps_and_watermarks(MONOTONOUS))
    windows = both.key_by(shop_of, Types.STRING())
    made = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    assert gathered(made.process(Spans(), SPAN)) == [
        ("a", 0, 10, 3),
        *[("b", 0, 10, 2), ("b", 10, 20, 1)],
    ]


def test_a_union_of_elements_with_and_without_time(env: StreamExecutionEnvironment) -> None:
    """Elements keep what they have: a time, or none, which windows of event time refuse (C.26)."""
    plain = env.from_collection([(7, "a", 1)], SALE)
    both = timed(env).union(plain)
    stamps = [(value[0], at) for value, at in gathered(both.process(Stamped()))]
    assert stamps == [(1, 1), (2, 2), (3, 3), (7, None)]
    windows = both.key_by(shop_of).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    with raises(JobExecutionError, match=r"(?i)time"):
        gathered(windows.process(Spans(), SPAN))
    again = both.assign_timestamps_and_watermarks(MONOTONOUS).process(Stamped())
    assert [at for _, at in gathered(again)] == [1, 2, 3, 7]


def test_a_union_of_many(env: StreamExecutionEnvironment) -> None:
    parts = [numbers(env, number, number + 10) for number in range(4)]
    united = parts[0].union(*parts[1:]).key_by(lambda value: value // 10)
    streams = env._mode is RuntimeExecutionMode.STREAMING
    sums = gathered(united.sum())
    assert {6, 46} <= set(sums)
    assert len(sums) == (8 if streams else 2)


def test_projection(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([(1, "a", 2), (2, "b", 20)], SALE).project(2, 0, 2)
    assert gathered(stream) == [(2, 1, 2), (20, 2, 20)]
    assert stream.get_type() == Types.TUPLE([Types.LONG()] * 3)
