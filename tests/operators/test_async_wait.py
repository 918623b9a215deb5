"""The asynchronous operator: room, order, results, settings (Flink: D)."""

import threading
from typing import Any

import pytest

from flinkish.common import OutputTag, Types
from flinkish.common.elements import LatencyMarker, StreamRecord, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    DeadlockError,
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.functions import AsyncBatchFunction, AsyncRetryStrategy
from flinkish.operators import (
    AsyncWaitOperator,
    BatchOutput,
    OperatorEnvironment,
    SupportsSoftBackpressure,
)
from tests.operators.async_rig import Manual, Stage

ANY = AsyncRetryStrategy.fixed_delay(1, 10)


def staged(fn: Any = None, snapshot: bytes | None = None, **settings: Any) -> tuple[Manual, Stage]:
    fn = Manual() if fn is None else fn
    return fn, Stage(AsyncWaitOperator(fn, **{"timeout": None, **settings}), snapshot)


# --- room and order


@pytest.mark.parametrize("capacity", [0, -5, 2**24])
def test_a_capacity_must_be_positive(capacity: int) -> None:
    """D.1."""
    with pytest.raises(IllegalArgumentError, match=f"capacity must be from 1 .*, not {capacity}"):
        AsyncWaitOperator(Manual(), timeout=0, capacity=capacity)


def test_a_full_operator_yields_until_there_is_room() -> None:
    """D.1: the element waits, mail is served meanwhile; without any it would wait for ever."""
    fn, stage = staged(capacity=2)
    stage.give(1, 2)
    with pytest.raises(DeadlockError, match="would wait for ever"):
        stage.give(3)
    fn.done(1)
    stage.give(3)
    assert stage.values == [1]
    assert list(fn.attempts) == [1, 2, 3]


def test_watermarks_take_room() -> None:
    """D.1: they count, too; in PyFlink they do not (D.29)."""
    _fn, stage = staged(capacity=2)
    stage.give(1, "W5")
    assert not stage.operator.is_available()
    with pytest.raises(DeadlockError):
        stage.give(2)
    with pytest.raises(DeadlockError):
        stage.give("W6")


def test_ordered_emits_the_head_only() -> None:
    """D.2."""
    fn, stage = staged()
    stage.give(1, "W1", 2, 3)
    fn.done(3)
    fn.done(2)
    stage.run()
    assert stage.values == []
    fn.done(1)
    stage.run()
    assert stage.values == [1, "W1", 2, 3]


def test_unordered_emits_as_completed_between_watermarks() -> None:
    """D.2: a watermark has its place, and is passed by nobody."""
    fn, stage = staged(mode="unordered")
    stage.give("W0", 1, 2, "W1", "W2", 3, 4)
    assert stage.values == ["W0"]
    for value in (4, 2, 3):
        fn.done(value)
        stage.run()
    assert stage.values == ["W0", 2]
    fn.done(1)
    stage.run()
    assert stage.values == ["W0", 2, 1, "W1", "W2", 4, 3]


def test_other_elements_are_refused() -> None:
    """D.3, D.21: latency markers never come here, a task sends them past the operator."""
    _fn, stage = staged()
    with pytest.raises(UnsupportedOperationError, match="takes records and watermarks, not Lat"):
        stage.operator.process_element(LatencyMarker(0, "o", 0))  # type: ignore[arg-type]


# --- results


def test_results_carry_the_timestamp_of_their_element() -> None:
    """D.4: any number of them."""
    fn, stage = staged()
    stage.give(StreamRecord("a", 7), StreamRecord("b", None), StreamRecord("c", 9))
    fn.done("a", "x", "y")
    fn.attempts["b"][0].complete([])
    fn.done("c", "z")
    stage.run()
    assert stage.out == [StreamRecord("x", 7), StreamRecord("y", 7), StreamRecord("z", 9)]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "gave None: results must not be None; give an empty list"),
        (5, r"gave 5 of type int, where an iterable of values is needed: give a list, \[value\]"),
        ("text", "gave 'text' of type str"),
        ({"a": 1}, "of type dict"),
    ],
)
def test_results_must_be_iterable(result: Any, message: str) -> None:
    """D.4, D.26: the task fails, the element gives nothing, the next ones go on."""
    fn, stage = staged()
    stage.give(1, 2)
    fn.done(2)
    fn.attempts[1][0].complete(result)
    stage.run()
    assert stage.values == [2]
    with pytest.raises(ArgumentTypeError, match=message):
        raise stage.failures[0]


def test_any_iterable_will_do() -> None:
    fn, stage = staged()
    stage.give(1, 2)
    fn.attempts[1][0].complete(iter("ab"))
    fn.attempts[2][0].complete(("c", "d"))
    stage.run()
    assert stage.values == ["a", "b", "c", "d"]


def test_side_outputs() -> None:
    late = OutputTag("late", Types.INT())
    fn, stage = staged()
    stage.give(StreamRecord(1, 5))
    fn.done(1, 10, (late, 11), (1, 2))
    stage.run()
    assert stage.values == [10, (1, 2)]
    assert stage.sides == {late: [StreamRecord(11, 5)]}


class Batches(Stage):
    """An output that takes batches."""

    def emit_batch(self, tag: Any, values: list[Any], timestamps: list[int | None]) -> None:
        assert tag is None
        assert values
        self.out += [StreamRecord(*pair) for pair in zip(values, timestamps, strict=True)]


def test_an_output_of_batches_gets_the_same() -> None:
    late = OutputTag("late", Types.INT())
    fn = Manual()
    stage = Batches(AsyncWaitOperator(fn, timeout=None))
    assert isinstance(stage, BatchOutput)
    stage.give(1, 2, "W3", 4)
    fn.done(1, "a", (late, "side"))
    fn.done(2, "b", "c")
    fn.done(4, "d")
    stage.run()
    assert stage.values == ["a", "b", "c", "W3", "d"]
    assert stage.sides == {late: [StreamRecord("side", 0)]}


def test_many_results_come_by_one_mail_that_leaves_room_for_others() -> None:
    """D.5, which takes one result a mail: here one mail takes up to 1,024."""
    fn, stage = staged(capacity=3000)
    stage.give(*range(3000))
    for value in range(3000):
        fn.done(value)
    stage.executor.execute(lambda: stage.out.append(Watermark(77)), "other mail")
    assert stage.mailbox.mailbox.size() == 2
    stage.run()
    assert stage.values == [*range(1024), "W77", *range(1024, 3000)]


def test_the_first_completion_wins() -> None:
    """D.6: later ones, of whatever kind, are ignored."""
    fn, stage = staged()
    stage.give(1)
    future = fn.attempts[1][0]
    assert future.complete(["first"])
    assert not future.complete(["second"])
    assert not future.complete_exceptionally(KeyError())
    stage.run()
    assert not future.complete(["third"])
    stage.run()
    assert stage.values == ["first"]
    assert stage.failures == []


def test_completions_come_from_any_thread() -> None:
    """D.6: and are handled on the thread of the mailbox."""
    fn, stage = staged(capacity=100, mode="unordered")
    stage.give(*range(100))
    wins = [0] * 4

    def work(me: int) -> None:
        wins[me] = sum(future.complete([me]) for [future] in fn.attempts.values())

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stage.values == []
    stage.run()
    assert len(stage.values) == sum(wins) == 100
    assert [stage.values.count(me) for me in range(4)] == wins


def test_an_error_fails_the_task_and_the_queue_goes_on() -> None:
    """D.7: the note names function, row, attempt and subtask."""
    fn, stage = staged()
    stage.give(1, 2)
    fn.done(2)
    fn.failed(1, KeyError("gone"))
    stage.run()
    assert stage.values == [2]
    [error] = stage.failures
    assert isinstance(error, KeyError)
    assert error.__notes__ == [
        "raised in Manual.async_invoke for 1 of timestamp 0 (1970-01-01 00:00:00+00:00), "
        "attempt 1, in stage (2/4)"
    ]


def test_what_is_no_error_cannot_be_one() -> None:
    fn, stage = staged()
    stage.give(1)
    fn.attempts[1][0].complete_exceptionally("bad")  # type: ignore[arg-type]
    stage.run()
    assert "with 'bad', which is no exception" in str(stage.failures[0])


def test_on_failure_gives_results_instead() -> None:
    seen = []

    def save(value: Any, error: BaseException, attempts: int) -> list[Any]:
        seen.append((value, error, attempts))
        return [("saved", value)]

    fn, stage = staged(on_failure=save)
    error = KeyError()
    stage.give(1, 2)
    fn.failed(1, error)
    fn.done(2)
    stage.run()
    assert stage.values == [("saved", 1), 2]
    assert seen == [(1, error, 1)]
    assert stage.failures == []
    assert stage.operator.statistics().failed == 1


def test_an_on_failure_that_raises_fails_the_task() -> None:
    def worse(value: Any, error: BaseException, attempts: int) -> Any:
        raise ZeroDivisionError

    fn, stage = staged(on_failure=worse)
    stage.give(1)
    fn.failed(1, KeyError())
    stage.run()
    assert isinstance(stage.failures[0], ZeroDivisionError)


def test_what_async_invoke_itself_raises_fails_at_once() -> None:
    """D.8: synchronously, and without another attempt."""

    class Broken(Manual):
        def async_invoke(self, value: Any, result_future: Any) -> None:
            raise ZeroDivisionError

    _fn, stage = staged(Broken(), timeout=100, retry=ANY)
    with pytest.raises(ZeroDivisionError) as raised:
        stage.give(1)
    assert "raised in Broken.async_invoke for 1" in raised.value.__notes__[0]


def test_a_supplier_is_called_on_the_mailbox_thread() -> None:
    """D.22: what it raises fails the task."""
    fn, stage = staged()
    stage.give(1, 2)
    threads: list[threading.Thread] = []

    def supply() -> list[str]:
        threads.append(threading.current_thread())
        return ["supplied"]

    def fail() -> list[str]:
        raise ZeroDivisionError

    other = threading.Thread(target=lambda: fn.attempts[1][0].complete(supply))
    other.start()
    other.join()
    fn.attempts[2][0].complete(fail)
    assert threads == []
    stage.run()
    assert threads == [threading.current_thread()]
    assert stage.values == ["supplied"]
    assert isinstance(stage.failures[0], ZeroDivisionError)


# --- back pressure


def test_a_full_operator_says_so() -> None:
    """D.24: a task suspends its input instead of yielding."""
    fn, stage = staged(capacity=1)
    operator = stage.operator
    assert isinstance(operator, SupportsSoftBackpressure)
    assert operator.is_available()
    assert operator.get_available_future().done()
    stage.give(1)
    assert not operator.is_available()
    room = operator.get_available_future()
    assert operator.get_available_future() is room
    assert not room.done()
    fn.done(1)
    assert not room.done()
    stage.run()
    assert room.done()
    assert operator.is_available()


# --- bad input


def test_settings_are_checked() -> None:
    """D.17, D.20, D.25."""
    with pytest.raises(IllegalArgumentError, match="mode must be 'ordered' or 'unordered'"):
        AsyncWaitOperator(Manual(), timeout=1, mode="sorted")
    with pytest.raises(IllegalArgumentError, match="timeout must be at least 0 ms"):
        AsyncWaitOperator(Manual(), timeout=-1)
    for timeout in (None, 0):
        with pytest.raises(IllegalArgumentError, match="retries need a timeout greater than 0"):
            AsyncWaitOperator(Manual(), timeout=timeout, retry=ANY)
    with pytest.raises(ArgumentTypeError, match="retry must be an AsyncRetryStrategy"):
        AsyncWaitOperator(Manual(), timeout=1, retry=3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="on_failure must be a function"):
        AsyncWaitOperator(Manual(), timeout=1, on_failure="drop")  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="read_ahead must be from 0"):
        AsyncWaitOperator(Manual(), timeout=1, read_ahead=-1)
    with pytest.raises(IllegalArgumentError, match="starts its calls itself, so none can wait"):
        AsyncWaitOperator(Manual(), timeout=1, read_ahead=1)
    with pytest.raises(ArgumentTypeError, match="capacity must be an int"):
        AsyncWaitOperator(Manual(), timeout=1, capacity="many")  # type: ignore[arg-type]


class NotAsync:
    def async_invoke(self, value: Any) -> list[Any]:
        return [value]


class InBatches(AsyncBatchFunction):
    async def async_invoke_batch(self, values: list[Any]) -> list[Any]:
        return values


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (NotAsync(), r"NotAsync.async_invoke is not awaitable: declare it `async def"),
        (Manual, "Manual is a class: give an instance"),
        (InBatches(), "takes batches: use AsyncBatchWaitOperator"),
        (7, "needs an AsyncFunction, an `async def` or a plain function of one value, not 7"),
    ],
)
def test_functions_are_checked(fn: Any, message: str) -> None:
    """D.25."""
    with pytest.raises(ArgumentTypeError, match=message):
        AsyncWaitOperator(fn, timeout=1)


def test_a_mailbox_and_for_timeouts_a_clock_are_needed() -> None:
    operator = AsyncWaitOperator(Manual(), timeout=1)
    with pytest.raises(IllegalStateError, match="gets its results by mail: run it in a task"):
        operator.setup(Stage(AsyncWaitOperator(Manual(), timeout=None)))
    _fn, stage = staged()
    operator = AsyncWaitOperator(Manual(), timeout=1)
    operator.setup(stage, OperatorEnvironment(mailbox_executor=stage.executor))
    operator.initialize_state()
    operator.open()
    with pytest.raises(IllegalArgumentError, match="need a processing-time service"):
        operator.process_element(StreamRecord(1))


def test_elements_before_open_are_refused() -> None:
    with pytest.raises(IllegalStateError, match="needs an operator that is open"):
        AsyncWaitOperator(Manual(), timeout=1).process_element(StreamRecord(1))
