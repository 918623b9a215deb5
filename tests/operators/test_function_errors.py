"""Errors of functions, and functions that use state and timers at the wrong moment."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common.errors import IllegalArgumentError, IllegalStateError
from flinkish.common.notes import dated
from flinkish.functions import KeyedProcessFunction
from flinkish.operators import KeyedProcessOperator
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from tests.testing.functions import Script


def harness_of(function: KeyedProcessFunction) -> Any:
    harness = KeyedOneInputStreamOperatorTestHarness(
        KeyedProcessOperator(function), lambda value: value[0]
    )
    harness.open()
    return harness


def notes(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", []))


class Fails(KeyedProcessFunction):
    def __init__(self, where: str) -> None:
        self.where = where

    def _maybe(self, where: str) -> None:
        if where == self.where:
            raise ZeroDivisionError(where)

    def open(self, runtime_context: Any) -> None:
        self._maybe("open")

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(10)
        ctx.timer_service().register_processing_time_timer(10)
        yield "before"
        self._maybe("process_element")
        yield "after"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer"
        self._maybe(ctx.time_domain().name)


@pytest.mark.parametrize(
    ("where", "method"),
    [
        ("open", "open"),
        ("process_element", "process_element"),
        ("EVENT_TIME", "on_timer"),
        ("PROCESSING_TIME", "on_timer"),
    ],
)
def test_errors_of_the_function_come_as_they_are_with_a_note(where: str, method: str) -> None:
    harness = KeyedOneInputStreamOperatorTestHarness(
        KeyedProcessOperator(Fails(where)), lambda value: value[0]
    )

    def run() -> None:
        harness.open()
        harness.process_element(("the key",), 5)
        harness.process_watermark(10)
        harness.set_processing_time(10)

    with pytest.raises(ZeroDivisionError) as caught:
        run()
    assert type(caught.value) is ZeroDivisionError
    assert f"Fails.{method}" in notes(caught.value)
    time = 5 if method == "process_element" else 10
    assert (f"'the key', timestamp {dated(time)}," in notes(caught.value)) == (method != "open")
    if where == "process_element":
        assert harness.extract_output_values() == ["before"], "what was yielded is not lost"
    harness.close()


def test_errors_in_a_batch_name_the_key_and_the_timestamp() -> None:
    harness = harness_of(Script())
    values = [("a", "put", 1), ("b", "fail", KeyError("b")), ("c", "put", 1)]
    with pytest.raises(KeyError) as caught:
        harness.operator.process_batch(values)
    assert "'b', timestamp None," in notes(caught.value)
    harness.process_elements([(key, "get") for key in "ac"])
    assert [value for value, _, _ in harness.extract_output_values()] == [1, None]


def test_a_timestamp_is_that_of_the_call_that_failed() -> None:
    harness = harness_of(Script())
    values = [("a", "put", 1), ("b", "fail", KeyError("b"))]
    with pytest.raises(KeyError) as caught:
        harness.operator.process_batch(values, [70, 80])
    assert "'b', timestamp 80 (1970-01-01 00:00:00.080000+00:00)," in notes(caught.value)
    with pytest.raises(KeyError) as caught:
        harness.process_element(("c", "fail", KeyError("c")))
    assert "'c', timestamp None," in notes(caught.value)


class Early(Script):
    """Uses state or timers where there is no key."""

    def __init__(self, use: Any) -> None:
        self.use = use

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self.use(self)


@pytest.mark.parametrize(
    "use",
    [
        lambda f: f.value.value(),
        lambda f: f.value.update(1),
        lambda f: f.items.get(),
        lambda f: f.items.add(1),
        lambda f: f.pairs.get(1),
        lambda f: f.pairs.put(1, 2),
        lambda f: list(f.pairs.items()),
    ],
)
def test_state_without_a_key_is_an_illegal_state(use: Any) -> None:
    with pytest.raises(IllegalStateError, match="without a current key"):
        harness_of(Early(use))
    harness = harness_of(function := Script())
    harness.process_element(("k", "put", 1))
    with pytest.raises(IllegalStateError, match="without a current key"):
        use(function)


def test_a_timer_service_that_was_kept_has_no_key() -> None:
    kept: list[Any] = []

    class Keeps(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            kept.append(ctx)

    harness = harness_of(Keeps())
    harness.process_element(("k",), 5)
    (ctx,) = kept
    assert ctx.timestamp() is None
    for use in (
        lambda: ctx.timer_service().register_event_time_timer(1),
        lambda: ctx.timer_service().delete_processing_time_timer(1),
        lambda: ctx.get_current_key(),
    ):
        with pytest.raises(IllegalStateError, match="current key"):
            use()


@pytest.mark.parametrize("timestamp", [None, "10", 1 << 63, -(1 << 63) - 1])
def test_a_timer_needs_a_time(timestamp: Any) -> None:
    harness = harness_of(Script())
    for command in ("at", "not_at", "later"):
        with pytest.raises(IllegalArgumentError, match="milliseconds since the epoch"):
            harness.process_element(("k", command, timestamp))


def test_a_function_must_not_call_its_own_operator() -> None:
    class Recursive(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            harness.process_element(value)

    harness = harness_of(Recursive())
    with pytest.raises(IllegalStateError, match="operator that is running it"):
        harness.process_element(("k",))
