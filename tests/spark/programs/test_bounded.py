"""Programs over bounded sources, in streaming and in batch mode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Row, Time, Types, WatermarkStrategy
from flinkish.common.errors import JobExecutionError
from flinkish.datastream import AsyncDataStream, DataStream, StreamExecutionEnvironment
from flinkish.datastream.connectors.number_seq import NumberSequenceSource
from flinkish.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.spark.programs.collecting import collected_together
from tests.spark.programs.functions import (
    ODD,
    PAIR,
    RULES,
    Both,
    Count,
    CountTimers,
    KeyedRules,
    Logged,
    Plain,
    Rules,
    SecondField,
    Sides,
    Split,
    Times10,
    ToFile,
    Window,
    first,
)
from tests.spark.support import raises

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
DATA = [("a", 1), ("b", 2), ("a", 3), ("b", 12), ("a", 14)]


def collected(stream: DataStream) -> list[Any]:
    """The elements of a stream, sorted by their texts."""
    return sorted(stream.execute_and_collect(), key=str)


def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(DATA, PAIR)


def timed(env: StreamExecutionEnvironment) -> DataStream:
    return pairs(env).assign_timestamps_and_watermarks(MONOTONOUS)


def counted(env: StreamExecutionEnvironment) -> DataStream:
    """How often there is a word, as in PyFlink's first example."""
    lines = env.from_collection(["to be or", "not to be"], Types.STRING())
    words = lines.flat_map(lambda line: line.split(" "), Types.STRING())
    ones = words.map(lambda word: (word, 1), PAIR)
    return ones.key_by(first, Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1]))


def test_a_word_count_streams_each_intermediate_value(
    streaming: StreamExecutionEnvironment,
) -> None:
    found = collected(counted(streaming))
    assert found == [("be", 1), ("be", 2), ("not", 1), ("or", 1), ("to", 1), ("to", 2)]


def test_a_word_count_in_batch_mode_gives_the_last_values(
    batch: StreamExecutionEnvironment,
) -> None:
    assert collected(counted(batch)) == [("be", 2), ("not", 1), ("or", 1), ("to", 2)]


def test_elements_of_no_declared_type_are_any_objects(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([{1, 2}, None, {3}])
    assert collected(stream.filter(bool).map(lambda value: sum(value))) == [3, 3]
    assert stream.get_type() == Types.PICKLED_BYTE_ARRAY()


def test_json_is_read_by_functions(env: StreamExecutionEnvironment) -> None:
    texts = [json.dumps({"id": number, "tel": number * 10}) for number in range(3)]
    rows = env.from_collection(texts, Types.STRING()).map(
        lambda text: Row(**json.loads(text)),
        Types.ROW_NAMED(["id", "tel"], [Types.LONG(), Types.LONG()]),
    )
    assert [row.tel for row in collected(rows.filter(lambda row: row.id > 0))] == [10, 20]


def test_the_highest_watermark_ends_bounded_sources(env: StreamExecutionEnvironment) -> None:
    """A.24: all event-time timers fire at the end, with the state of the last element."""
    found = collected(timed(env).key_by(first).process(CountTimers(), PAIR))
    timers = [(f"{key} at {at + 10}", 3 if key == "a" else 2) for key, at in DATA]
    counts = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]
    assert found == sorted([*timers, *counts], key=str)


def test_windows_of_time(env: StreamExecutionEnvironment) -> None:
    expected = {
        TumblingEventTimeWindows.of(Time.milliseconds(10)): [
            *(("a", 0, 2), ("a", 10, 1), ("b", 0, 1), ("b", 10, 1)),
        ],
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)): [
            *(("a", -5, 2), ("a", 0, 2), ("a", 10, 1), ("a", 5, 1)),
            *(("b", -5, 1), ("b", 0, 1), ("b", 10, 1), ("b", 5, 1)),
        ],
        EventTimeSessionWindows.with_gap(Time.milliseconds(5)): [
            *(("a", 1, 2), ("a", 14, 1), ("b", 12, 1), ("b", 2, 1)),
        ],
        EventTimeSessionWindows.with_dynamic_gap(lambda value: value[1] + 2): [
            *(("a", 1, 2), ("a", 14, 1), ("b", 12, 1), ("b", 2, 1)),
        ],
    }
    kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    keyed = timed(env).key_by(first)
    streams = [keyed.window(assigner).process(Window(), kind) for assigner in expected]
    found = [sorted(windows, key=str) for windows in collected_together(streams)]
    assert found == list(expected.values())


def test_windows_of_a_count_and_of_all(env: StreamExecutionEnvironment) -> None:
    kind = Types.TUPLE([Types.STRING(), Types.LONG()])
    assert collected(pairs(env).key_by(first).count_window(2).process(Count(), kind)) == [
        ("a", 2),
        ("b", 2),
    ]
    whole = timed(env).window_all(TumblingEventTimeWindows.of(Time.milliseconds(100)))
    assert collected(whole.reduce(lambda a, b: (a[0], a[1] + b[1]))) == [("a", 32)]


def test_a_function_with_side_outputs_runs_once(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    log, sunk, odd = tmp_path / "calls", tmp_path / "even", tmp_path / "odd"
    made = env.from_collection(list(range(6)), Types.LONG()).process(Split(log), Types.LONG())
    made.add_sink(ToFile(sunk))
    made.get_side_output(ODD).map(lambda value: -value, Types.LONG()).add_sink(ToFile(odd))
    env.execute()
    assert sorted(log.read_text().split()) == list("012345")
    assert sorted(sunk.read_text().splitlines()) == ["0 None", "2 None", "4 None"]
    assert sorted(odd.read_text().splitlines()) == ["-1 None", "-3 None", "-5 None"]


def test_what_several_streams_read_is_made_once(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    log, out = tmp_path / "calls", tmp_path / "out"
    shared = env.from_collection([1, 2, 3], Types.LONG()).map(Logged(log), Types.LONG())
    shared.map(lambda value: value + 10, Types.LONG()).add_sink(ToFile(out))
    shared.key_by(lambda value: value % 2).sum().add_sink(ToFile(out))
    env.execute()
    assert sorted(log.read_text().split()) == ["1", "2", "3"]
    assert {"11 None", "12 None", "13 None"} <= set(out.read_text().splitlines())


def test_an_operator_that_nothing_reads_runs(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    env.from_collection([1, 2], Types.LONG()).map(Logged(log), Types.LONG())
    env.execute()
    assert sorted(log.read_text().split()) == ["1", "2"]


def test_connected_streams_share_the_state_of_a_key(env: StreamExecutionEnvironment) -> None:
    other = env.from_collection([("a", 0), ("c", 0)], PAIR)
    both = pairs(env).connect(other).key_by(first, first).process(Both(), PAIR)
    found = collected(both)
    assert [count for name, count in found if name.startswith("a")] in (
        [1, 2, 3, 4],  # one, one, one, two
        [2, 3, 4, 1],
    )
    assert [pair for pair in found if pair[0].startswith("c")] == [("c two", 1)]


def test_connected_streams_without_keys(env: StreamExecutionEnvironment) -> None:
    one = env.from_collection([1, 2], Types.LONG())
    two = env.from_collection([0, 3], Types.LONG())
    assert collected(one.connect(two).map(Sides(), PAIR)) == [("one", 1), ("one", 2), ("two", 3)]


@pytest.mark.parametrize("keyed", [True, False])
def test_broadcast_rules_come_before_the_elements(
    env: StreamExecutionEnvironment, keyed: bool
) -> None:
    """In either mode bounded rules are there first; Flink promises it in batch mode (B.28)."""
    rules = env.from_collection([("a", 3), ("b", 2)], PAIR).broadcast(RULES)
    stream = pairs(env).key_by(first) if keyed else pairs(env)
    made = stream.connect(rules).process(KeyedRules() if keyed else Rules(), PAIR)
    assert collected(made) == [("a", 1), ("a", 3), ("b", 2)]


def test_a_union_of_streams_with_and_without_event_time(
    streaming: StreamExecutionEnvironment,
) -> None:
    both = pairs(streaming).union(timed(streaming))
    found = collected(both.key_by(first).sum(1))
    assert [pair for pair in found if pair[0] == "b"][-1][1] <= 28
    assert max(value for key, value in found if key == "b") == 28


def test_event_time_may_be_assigned_after_an_operator(env: StreamExecutionEnvironment) -> None:
    made = pairs(env).key_by(first).process(Plain(), PAIR)
    windows = (
        made.assign_timestamps_and_watermarks(MONOTONOUS)
        .key_by(first)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    assert collected(windows.process(Window(), kind))[0] == ("a", 0, 2)


def test_projection_gives_tuples(env: StreamExecutionEnvironment) -> None:
    assert collected(pairs(env).project(1))[:2] == [(1,), (12,)]


def test_asynchronous_calls(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1, 2, 3], Types.LONG())
    made = AsyncDataStream.ordered_wait(
        stream, Times10(), Time.seconds(5), capacity=2, output_type=Types.LONG()
    )
    assert collected(made) == [10, 20, 30]


def test_sources(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    none = WatermarkStrategy.no_watermarks()
    numbers = env.from_source(NumberSequenceSource(3, 5), none, "numbers")
    assert collected(numbers.map(lambda value: value + 1, Types.LONG())) == [4, 5, 6]
    assert collected(env.from_collection([], Types.LONG()).map(str, Types.STRING())) == []
    (tmp_path / "lines").write_text("ä\nb\n", encoding="utf-8")
    assert collected(env.read_text_file(str(tmp_path / "lines"))) == ["b", "ä"]


def test_print_shows_the_task_and_flinks_text(
    env: StreamExecutionEnvironment, capfd: pytest.CaptureFixture[str]
) -> None:
    kind = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.BOOLEAN()])
    env.from_collection([Row("x", True)], kind).print("rows")
    env.from_collection([("a", 1)], PAIR).print()
    env.execute()
    found = capfd.readouterr().out.splitlines()
    assert [line for line in found if line.startswith("rows:")] == ["rows:1> +I[x, true]"]
    assert "1> (a,1)" in found


def test_some_elements_are_enough(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1, 2, 3], Types.LONG())
    assert stream.execute_and_collect(limit=2) == [1, 2]
    with env.from_collection([1, 2, 3], Types.LONG()).execute_and_collect() as found:
        assert found.next() == 1


def test_a_flat_map_iterates_over_what_it_returns(env: StreamExecutionEnvironment) -> None:
    """The keys of a dict, as in PyFlink 2.3; the elements of a generator or a set; None is none."""
    words = env.from_collection(list("abcd"), Types.STRING())

    def values(word: str) -> Any:
        return {"a": {"x": 1, "y": 2}, "b": None, "c": {"z"}, "d": (one for one in "pq")}[word]

    assert collected(words.flat_map(values, Types.STRING())) == ["p", "q", "x", "y", "z"]
    keyed = words.key_by(lambda word: word, Types.STRING())
    assert collected(keyed.flat_map(values, Types.STRING())) == ["p", "q", "x", "y", "z"]


def test_a_map_may_give_a_dict(env: StreamExecutionEnvironment) -> None:
    """As an object, as a MAP, and as a ROW of its names."""
    numbers = env.from_collection([1, 2], Types.LONG())
    kinds = [None, Types.MAP(Types.STRING(), Types.LONG())]
    for kind in kinds:
        assert collected(numbers.map(lambda n: {"n": n}, kind)) == [{"n": 1}, {"n": 2}]
    rows = Types.ROW_NAMED(["n"], [Types.LONG()])
    assert collected(numbers.map(lambda n: {"n": n}, rows)) == [Row(n=1), Row(n=2)]


def test_a_flat_map_must_not_return_one_value(env: StreamExecutionEnvironment) -> None:
    words = env.from_collection(["a"], Types.STRING())
    for stream in (words, words.key_by(lambda word: word, Types.STRING())):
        with raises(JobExecutionError, match=r"flat_map returned .* of type .*; yield each"):
            list(stream.flat_map(lambda _: "ab").execute_and_collect())
