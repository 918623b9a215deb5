"""How programs begin and end: sources, sinks, what print shows, errors of functions, arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Row, Time, Types, WatermarkStrategy
from flinkish.common.errors import (
    FlinkishError,
    IllegalStateError,
    JobExecutionError,
)
from flinkish.common.watermark_strategy import TimestampAssigner
from flinkish.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from flinkish.datastream.connectors.number_seq import NumberSequenceSource
from flinkish.datastream.window import TumblingEventTimeWindows
from tests.spark.programs.example_functions import (
    NAMED,
    SALE,
    Logs,
    SaleTime,
    calls,
    gathered,
)
from tests.spark.support import raises

NONE = WatermarkStrategy.no_watermarks()
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SaleTime())


def test_sinks_open_close_and_know_the_time(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    log = tmp_path / "sink"
    stream = env.from_collection([(5, "a", 1), (6, "b", 2)], SALE)
    stream.assign_timestamps_and_watermarks(MONOTONOUS).map(lambda sale: sale[1]).add_sink(
        Logs(log)
    )
    result = env.execute("sinks")
    assert result.get_net_runtime() > 0
    assert calls(log) == ["a at 5", "b at 6"]
    opened, closed = calls(log.with_suffix(".opened")), calls(log.with_suffix(".closed"))
    assert opened
    assert len(opened) == len(closed)


def test_collected_elements(env: StreamExecutionEnvironment) -> None:
    """Types give tuples, Rows and lists back; a limit beyond the end gives all."""
    kind = Types.TUPLE([Types.STRING(), Types.LIST(Types.LONG()), Types.DOUBLE()])
    (found,) = env.from_collection([("a", [1], 0.5)], kind).execute_and_collect(limit=9)
    assert (found, type(found), type(found[1])) == (("a", [1], 0.5), tuple, list)
    row = Row(a=1, b=None)
    rows = env.from_collection([row], Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]))
    with rows.execute_and_collect("rows") as elements:
        assert next(elements) == row
        with pytest.raises(StopIteration):
            elements.next()
    objects = [{"a": {1}}, None, (1, "x"), 2**70]
    assert gathered(env.from_collection(objects)) == sorted(objects, key=str)


def test_an_empty_collection(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = env.from_collection([], SALE).assign_timestamps_and_watermarks(MONOTONOUS)
    keyed = empty.key_by(lambda sale: sale[1])
    assert gathered(keyed.sum(2)) == []
    assert empty.execute_and_collect(limit=1) == []
    assert gathered(env.from_collection([])) == []
    empty.print()
    env.execute()
    assert capsys.readouterr().out == ""


def test_numbers_and_lines(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    numbers = env.from_source(NumberSequenceSource(-1, 1), NONE, "numbers")
    assert numbers.get_type() == Types.LONG()
    assert gathered(numbers) == [-1, 0, 1]
    assert gathered(env.from_source(NumberSequenceSource(4, 4), NONE, "one")) == [4]
    (tmp_path / "a.txt").write_text("one\n\nthree")
    (tmp_path / "b.txt").write_text("four\r\n")
    lines = env.read_text_file(str(tmp_path))
    assert lines.get_type() == Types.STRING()
    assert gathered(lines) == ["", "four", "one", "three"]


TEXTS: list[tuple[Any, Any, str]] = [
    (Types.STRING(), "a b", "a b"),
    (Types.BOOLEAN(), False, "false"),
    (Types.DOUBLE(), 1e10, "1.0E10"),
    (NAMED, ("a", None), "(a,null)"),
    (Types.LIST(Types.LONG()), [1, 2], "[1, 2]"),
    (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}, "{a=1}"),
    (Types.ROW([Types.STRING(), NAMED]), Row("x", ("y", 1)), "+I[x, (y,1)]"),
]


def test_the_text_of_print(
    streaming: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    """One task has no number; what the sink is called stands before the element's text."""
    streaming.set_parallelism(1)
    for number, (kind, value, _) in enumerate(TEXTS):
        streaming.from_collection([value], kind).print(f"out{number}")
    streaming.from_collection(["alone"], Types.STRING()).print()
    streaming.execute()
    expected = [f"out{number}> {text}" for number, (_, _, text) in enumerate(TEXTS)]
    assert sorted(capsys.readouterr().out.splitlines()) == ["alone", *expected]


def test_the_text_of_a_float(
    streaming: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    """Java's Float.toString has as many digits as tell a float from the next one."""
    streaming.set_parallelism(1).from_collection([0.1], Types.FLOAT()).print()
    streaming.execute()
    assert capsys.readouterr().out == "0.1\n"


def test_a_program_is_executed_once(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env.from_collection([1], Types.LONG()).print()
    env.execute()
    assert capsys.readouterr().out.endswith("> 1\n")
    with pytest.raises(IllegalStateError, match="no operator or sink"):
        env.execute()


# --- errors of functions


def fails(value: Any) -> Any:
    raise LookupError(f"no {value!r}")


class FailsInTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(7)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise LookupError(f"no timer {timestamp}")


class FailsInWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        raise LookupError(f"no window of {key}")


class FailsInSink(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        raise LookupError(f"no sink for {value[1]}")


class TimeBy(TimestampAssigner):
    """Event time by a function."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._function(value)  # type: ignore[no-any-return]


def timed(stream: Any, function: Callable[[Any], Any]) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(TimeBy(function))
    )


def windowed(stream: Any) -> Any:
    windows = stream.key_by(lambda sale: sale[1]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(5))
    )
    return windows.process(FailsInWindow()).print()


@pytest.mark.parametrize(
    ("build", "line", "shown"),
    [
        (lambda stream: stream.filter(fails).print(), "no {value!r}", "(1, 'a', 2)"),
        (lambda stream: stream.key_by(fails).sum(2).print(), "no {value!r}", "(1, 'a', 2)"),
        (lambda stream: timed(stream, fails).print(), "no {value!r}", "(1, 'a', 2)"),
        (
            lambda stream: stream.key_by(lambda sale: sale[1]).process(FailsInTimer()).print(),
            "no timer {timestamp}",
            "'a'",
        ),
        (windowed, "no window of {key}", "'a'"),
        (lambda stream: stream.add_sink(FailsInSink()), "no sink for {value[1]}", "(1, 'a', 2)"),
    ],
    ids=["filter", "key", "time", "timer", "window", "sink"],
)
def test_errors_show_the_line_and_the_element(
    streaming: StreamExecutionEnvironment, build: Callable[[Any], Any], line: str, shown: str
) -> None:
    stream = streaming.from_collection([(1, "a", 2)], SALE)
    build(stream.assign_timestamps_and_watermarks(MONOTONOUS))
    with raises(JobExecutionError) as caught:
        streaming.execute("ends")
    text = str(caught.value)
    assert "LookupError" in text
    assert line in text
    assert shown in text
    assert "Py4J" not in text


@pytest.mark.parametrize("time", [None, 1.5])
def test_an_event_time_is_an_int(streaming: StreamExecutionEnvironment, time: Any) -> None:
    stream = streaming.from_collection([(1, "a", 2)], SALE)
    timed(stream, lambda _: time).print()
    with raises(JobExecutionError) as caught:
        streaming.execute("times")
    assert type(time).__name__ in str(caught.value)
    assert "(TimeBy.extract_timestamp), for the element (1, 'a', 2)" in str(caught.value)


# --- arguments


@pytest.mark.parametrize(
    "call",
    [
        lambda env, stream: env.from_collection("text"),
        lambda env, stream: env.from_collection(5),
        lambda env, stream: env.from_source("numbers", NONE, "numbers"),
        lambda env, stream: env.add_source([1]),
        lambda env, stream: env.set_parallelism(0),
        lambda env, stream: env.set_max_parallelism(0),
        lambda env, stream: env.set_runtime_mode("BATCH"),
        lambda env, stream: env.enable_checkpointing(1),
        lambda env, stream: stream.key_by(5),
        lambda env, stream: stream.union("other"),
        lambda env, stream: stream.connect(5),
        lambda env, stream: stream.broadcast("limits"),
        lambda env, stream: stream.get_side_output("tag"),
        lambda env, stream: stream.project(),
        lambda env, stream: stream.project(2),
        lambda env, stream: stream.project(-1),
        lambda env, stream: stream.map(lambda pair: pair).project(0),
        lambda env, stream: stream.add_sink(print),
        lambda env, stream: stream.sink_to("file"),
        lambda env, stream: stream.uid(""),
        lambda env, stream: stream.connect(stream).key_by(lambda pair: 1, 5),
        lambda env, stream: stream.key_by(lambda pair: 1).count_window(0),
        lambda env, stream: stream.key_by(lambda pair: 1).sum(2),
        lambda env, stream: stream.key_by(lambda pair: 1).max(-1),
        lambda env, stream: stream.key_by(lambda pair: 1).max_by("f1"),  # of a tuple, not a Row
        lambda env, stream: stream.key_by(lambda pair: 1).min(None),
        lambda env, stream: stream.set_max_parallelism(2).set_parallelism(3),
    ],
)
def test_wrong_arguments(
    streaming: StreamExecutionEnvironment, call: Callable[[Any, Any], Any]
) -> None:
    with pytest.raises(FlinkishError):
        call(streaming, streaming.from_collection([("a", 1)], NAMED))


WRONG_FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda stream: stream.map(5),
    lambda stream: stream.flat_map("f"),
    lambda stream: stream.filter(None),
    lambda stream: stream.process(lambda value: value),
    lambda stream: stream.map(lambda pair: pair, "no type"),
    lambda stream: stream.key_by(lambda pair: 1).reduce(5),
    lambda stream: stream.key_by(lambda pair: 1).process(5),
    lambda stream: stream.key_by(lambda pair: 1).window(5),
    lambda stream: stream.connect(stream).map(lambda pair: pair),
    lambda stream: stream.connect(stream.key_by(lambda pair: 1)).process(5),
]


def refused(env: StreamExecutionEnvironment, call: Callable[[Any], Any]) -> None:
    call(env.from_collection([("a", 1)], NAMED))
    env.execute()


def test_wrong_functions_are_refused(streaming: StreamExecutionEnvironment) -> None:
    for call in WRONG_FUNCTIONS:
        with pytest.raises((FlinkishError, TypeError)):
            refused(streaming, call)
        streaming.close()


def test_wrong_functions_are_refused_at_the_call(streaming: StreamExecutionEnvironment) -> None:
    """As in PyFlink, where the call that is given no function raises, not the job."""
    for call in WRONG_FUNCTIONS:
        with pytest.raises((FlinkishError, TypeError)):
            call(streaming.from_collection([("a", 1)], NAMED))
