"""Functions between those of users and streams."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from flinkish.common import OutputTag, Row
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.environment.outputs import Invoke, TaggedCoOutputs, TaggedOutputs, Untagged
from flinkish.functions.process import CoProcessFunction, ProcessFunction
from flinkish.functions.sink import SinkFunction

ODD = OutputTag("odd")
CONTEXT = object()
RUNTIME = object()


class Recorded:
    """Keeps what a function was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def open(self, runtime_context: Any) -> None:
        self.calls.append(("open", runtime_context))

    def close(self) -> None:
        self.calls.append(("close", None))


class Sorting(Recorded, ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        self.calls.append(("process", ctx))
        yield (ODD, value) if value % 2 else value
        yield str(value)


class Returning(ProcessFunction):
    """Returns what it was made with, for any element."""

    def __init__(self, results: Any) -> None:
        self._results = results

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self._results


class SortingBoth(Recorded, CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.calls.append(("first", ctx))
        return [(ODD, value)]

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.calls.append(("second", ctx))
        return [value]


class Taking(Recorded, SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.calls.append(
            (
                value,
                (
                    context.timestamp(),
                    context.current_watermark(),
                    context.current_processing_time(),
                ),
            )
        )


class Unlike:
    """Has what is called for an element, and neither open nor close."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        return [value]


def test_values_have_the_id_of_their_output() -> None:
    function = Sorting()
    outputs = TaggedOutputs(function)
    assert list(outputs.process_element(3, CONTEXT)) == [("odd", 3), ("", "3")]
    assert list(outputs.process_element(4, CONTEXT)) == [("", 4), ("", "4")]
    assert function.calls == [("process", CONTEXT)] * 2


@pytest.mark.parametrize(
    ("results", "pairs"),
    [
        (None, []),
        ([], []),
        ([None], [("", None)]),
        ([(ODD, None)], [("odd", None)]),
        ([(ODD, (ODD, 1))], [("odd", (ODD, 1))]),
        ([("odd", 1)], [("", ("odd", 1))]),
        ([(1, ODD)], [("", (1, ODD))]),
        ([(ODD, 1, 2)], [("", (ODD, 1, 2))]),
        ([(ODD,)], [("", (ODD,))]),
        ([[ODD, 1]], [("", [ODD, 1])]),
        ([Row(ODD, 1)], [("", Row(ODD, 1))]),
        (iter([1, 2]), [("", 1), ("", 2)]),
    ],
)
def test_only_pairs_with_a_tag_are_of_a_side_output(
    results: Any, pairs: list[tuple[str, Any]]
) -> None:
    assert list(TaggedOutputs(Returning(results)).process_element(0, CONTEXT)) == pairs


def test_both_streams_have_side_outputs() -> None:
    function = SortingBoth()
    outputs = TaggedCoOutputs(function)
    assert list(outputs.process_element1(1, CONTEXT)) == [("odd", 1)]
    assert list(outputs.process_element2(2, RUNTIME)) == [("", 2)]
    assert function.calls == [("first", CONTEXT), ("second", RUNTIME)]


@pytest.mark.parametrize(
    ("wrap", "function"),
    [(TaggedOutputs, Sorting()), (TaggedCoOutputs, SortingBoth()), (Invoke, Taking())],
)
def test_the_function_is_opened_and_closed(wrap: Callable[[Any], Any], function: Recorded) -> None:
    outer = wrap(function)
    outer.open(RUNTIME)
    assert function.calls == [("open", RUNTIME)]
    outer.close()
    assert function.calls == [("open", RUNTIME), ("close", None)]
    assert outer.__name__ == type(function).__name__


def test_a_function_may_have_neither_open_nor_close() -> None:
    outputs = TaggedOutputs(Unlike())
    outputs.open(RUNTIME)
    outputs.close()
    assert list(outputs.process_element(5, CONTEXT)) == [("", 5)]


def test_an_error_comes_after_the_values_before_it() -> None:
    class Failing(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ODD, value
            raise ValueError("in the function")

    results = TaggedOutputs(Failing()).process_element(1, CONTEXT)
    assert next(results) == ("odd", 1)
    with pytest.raises(ValueError, match="in the function"):
        next(results)


def test_every_value_comes_out_of_its_output_alone() -> None:
    even = OutputTag("even")
    outputs = TaggedOutputs(Sorting())
    pairs = [pair for value in (1, 2, 3) for pair in outputs.process_element(value, CONTEXT)]

    def of(function: Untagged) -> list[Any]:
        return [value for pair in pairs for value in function.flat_map(pair)]

    assert of(Untagged()) == ["1", 2, "2", "3"]
    assert of(Untagged(ODD)) == [1, 3]
    assert of(Untagged(OutputTag("odd"))) == [1, 3]
    assert of(Untagged(even)) == []


def test_they_work_in_another_process() -> None:
    outputs = pickle.loads(pickle.dumps(TaggedOutputs(Sorting())))
    untagged = pickle.loads(pickle.dumps(Untagged(ODD)))
    pairs = outputs.process_element(3, CONTEXT)
    assert [untagged.flat_map(pair) for pair in pairs] == [(3,), ()]
    sink = pickle.loads(pickle.dumps(Invoke(Taking())))
    assert sink.process_element(3, Context(None)) == ()
    assert sink.__name__ == "Taking"


class Context(ProcessFunction.Context):
    """The context of an element with this event time."""

    def __init__(self, timestamp: int | None) -> None:
        self._timestamp = timestamp

    def timestamp(self) -> int | None:
        return self._timestamp

    def timer_service(self) -> Any:
        raise AssertionError("a sink needs no timers")


@pytest.mark.parametrize("timestamp", [None, 0, 1_234])
def test_a_sink_takes_elements_and_what_is_known_of_them(
    timestamp: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(time_ns=lambda: 5_999_999)
    monkeypatch.setattr("flinkish.environment.outputs.time", clock)
    sink = Taking()
    assert Invoke(sink).process_element("a", Context(timestamp)) == ()
    assert sink.calls == [("a", (timestamp, MIN_TIMESTAMP, 5))]


def test_an_error_of_a_sink_is_the_tasks() -> None:
    class Full(SinkFunction):
        def invoke(self, value: Any, context: SinkFunction.Context) -> None:
            raise OSError(f"no room for {value}")

    with pytest.raises(OSError, match="no room for 3"):
        Invoke(Full()).process_element(3, Context(None))
