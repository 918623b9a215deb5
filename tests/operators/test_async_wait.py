"""The asynchronous operator, fact by fact (Flink: D)."""

import threading
from typing import Any

import pytest

from flinkish.common import OutputTag, Types
from flinkish.common.elements import LatencyMarker, StreamRecord, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    AsyncTimeoutError,
    CorruptStateError,
    DeadlockError,
    IllegalArgumentError,
    IllegalStateError,
    SerializationError,
    UnsupportedOperationError,
)
from flinkish.functions import AsyncBatchFunction, AsyncFunction, AsyncRetryStrategy
from flinkish.operators import (
    AsyncWaitOperator,
    BatchOutput,
    OperatorEnvironment,
    SupportsSoftBackpressure,
)
from flinkish.testing import OneInputStreamOperatorTestHarness
from tests.operators.async_rig import Defaulting, Manual, Stage

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
        "raised in Manual.async_invoke for 1 of timestamp 0, attempt 1, in stage (2/4)"
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


# --- timeouts


def test_a_timeout_fails_the_task_by_default() -> None:
    """D.9: and lets the next elements go on (D.11)."""
    fn, stage = staged(Defaulting(), timeout="5 seconds")
    stage.give(1)
    stage.at(1)
    stage.give(2)
    fn.done(2)
    stage.at(4_999)
    assert stage.values == []
    stage.at(5_000)
    assert stage.values == [2]
    with pytest.raises(
        AsyncTimeoutError, match=r"Defaulting.async_invoke was not done in time for 1; raise"
    ) as raised:
        raise stage.failures[0]
    assert isinstance(raised.value, TimeoutError)
    assert stage.operator.statistics().timed_out == 1


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_timeout_gives_something_instead(mode: str) -> None:
    """D.9 (testAsyncTimeoutIgnore), D.11: the head is released."""
    fn, stage = staged(timeout=10, mode=mode)
    stage.give(StreamRecord(1, 0))
    stage.at(5)
    stage.give(StreamRecord(2, 5))
    fn.done(2, 2)
    stage.at(10)
    fn.timeouts[1].complete([3])
    stage.run()
    assert sorted(stage.out, key=lambda one: one.timestamp or 0) == [  # type: ignore[attr-defined]
        StreamRecord(3, 0),
        StreamRecord(2, 5),
    ]
    assert (stage.values == [3, 2]) is (mode == "ordered")
    assert not fn.done(1), "the attempt comes too late"
    assert stage.failures == []


def test_no_timer_is_left_when_all_is_done() -> None:
    """D.10 (testTimeoutCleanup): and one of the service serves any number of elements."""
    fn, stage = staged(timeout=1_000)
    stage.give(*range(50))
    assert stage.operator.statistics().timers == 50
    assert stage.clock.num_active_timers == 1
    for value in range(49):
        fn.done(value)
    stage.run()
    assert stage.operator.statistics().timers == 1
    fn.done(49)
    stage.run()
    assert stage.operator.statistics().timers == 0
    assert stage.clock.num_active_timers == 0
    stage.at(5_000)
    assert fn.timeouts == {}


def test_a_completion_before_the_timers_mail_wins() -> None:
    """D.10 (FLINK-22573): the clock has passed, the mail has not run."""
    fn, stage = staged(timeout=10)
    stage.give(1)
    stage.clock.set_current_time(10)
    fn.done(1, "in time")
    stage.run()
    assert stage.values == ["in time"]
    assert fn.timeouts == {}


def test_without_a_timeout_there_are_no_timers() -> None:
    for timeout in (None, 0):
        _fn, stage = staged(timeout=timeout)
        stage.give(1)
        assert stage.operator.statistics().timers == 0
        assert stage.clock.num_active_timers == 0


def test_timeouts_far_and_near_come_in_their_time() -> None:
    fn, stage = staged(timeout="1 hour")
    stage.give(1)
    stage.at(1_800_000)
    stage.give(2)
    stage.at(3_599_999)
    assert fn.timeouts == {}
    stage.at(3_600_000)
    assert list(fn.timeouts) == [1]
    stage.at(5_400_000)
    assert list(fn.timeouts) == [1, 2]


# --- snapshots


def test_a_snapshot_holds_what_is_not_emitted() -> None:
    """D.12: also what is completed, without its results; a restore calls again.

    PyFlink has none: it waits for what is in flight whenever a bundle ends (D.28).
    """
    fn, stage = staged(mode="unordered", timeout=100)
    stage.give(1, 2, "W5", 3)
    fn.done(3)
    fn.done(2)
    stage.run()
    assert stage.values == [2]
    again, restored = staged(snapshot=stage.operator.snapshot_state(1), mode="unordered")
    assert list(again.attempts) == [1, 3]
    assert restored.operator.snapshot_state(2) == stage.operator.snapshot_state(1)
    again.done(3)
    again.done(1)
    restored.run()
    assert restored.values == [1, "W5", 3]
    assert fn.done(1)
    stage.run()
    assert stage.values == [2, 1, "W5", 3]


def test_a_restore_with_more_than_there_is_room_for() -> None:
    """D.13: one more, and many more; nothing new is taken before, and the order holds."""
    _fn, stage = staged(capacity=8)
    stage.give(1, 2, "W1", 3, "W2", "W3", 4, 5)
    snapshot = stage.operator.snapshot_state(1)
    for capacity in (7, 1, 2):
        fn, small = staged(snapshot=snapshot, capacity=capacity)
        assert not small.operator.is_available()
        assert small.operator.snapshot_state(1) == snapshot
        for value in (1, 2, 3, 4, 5):
            assert fn.done(value)
            small.run()
        assert small.values == [1, 2, "W1", 3, "W2", "W3", 4, 5]
        assert small.operator.is_available()


def test_an_element_waits_until_what_was_restored_has_room() -> None:
    _fn, stage = staged(capacity=3)
    stage.give(1, 2, 3)
    fn, small = staged(snapshot=stage.operator.snapshot_state(1), capacity=1)
    with pytest.raises(DeadlockError):
        small.give(4)
    fn.done(1)
    small.run()
    fn.done(2)
    small.run()
    assert list(fn.attempts) == [1, 2, 3]
    fn.done(3)
    small.give(4)
    fn.done(4)
    small.run()
    assert small.values == [1, 2, 3, 4]


def test_many_watermarks_are_restored_through_a_small_queue() -> None:
    _fn, stage = staged(capacity=5_000)
    stage.give(0, *(f"W{n}" for n in range(4_000)))
    fn, small = staged(snapshot=stage.operator.snapshot_state(1), capacity=1)
    fn.done(0)
    small.run()
    assert small.values == [0, *(f"W{n}" for n in range(4_000))]


def test_elements_are_kept_as_they_came() -> None:
    """D.14: no object is used twice here, so there is nothing to copy."""
    fn, stage = staged()
    record = StreamRecord(("a", "value"), 3)
    stage.give(record)
    assert next(iter(fn.attempts)) is record.value
    assert stage.operator._unemitted()[0] is record


def test_damaged_snapshots_are_refused() -> None:
    _fn, stage = staged()
    stage.give(1)
    snapshot = stage.operator.snapshot_state(1)
    with pytest.raises(CorruptStateError, match="refused"):
        staged(snapshot=snapshot[:-1] + b"?")
    with pytest.raises(ArgumentTypeError, match="of type bytes, not str"):
        staged(snapshot="text")  # type: ignore[arg-type]


def test_an_element_that_cannot_be_pickled_is_named() -> None:
    _fn, stage = staged()
    stage.give(1, ("a lock", threading.Lock()))
    with pytest.raises(SerializationError, match=r"'a lock'.* cannot be pickled") as raised:
        stage.operator.snapshot_state(1)
    assert raised.value.path == "tuple"


# --- the end


def test_end_input_waits_for_all() -> None:
    """D.15."""
    fn, stage = staged()
    stage.give(1, "W2")
    with pytest.raises(DeadlockError):
        stage.operator.end_input()
    fn.done(1)
    stage.operator.end_input()
    assert stage.values == [1, "W2"]


def test_results_after_the_end_are_dropped() -> None:
    """D.16 (testIgnoreAsyncOperatorRecordsOnDrain): counted, and nothing is raised."""
    fn, stage = staged()
    stage.give(1, 2, 3)
    stage.mailbox.close()
    assert fn.done(1)
    assert fn.done(3)
    assert stage.operator.statistics().dropped == 2
    stage.operator.close()
    assert stage.values == []


def test_close_ends_timers_and_the_function_once() -> None:
    fn, stage = staged(timeout=100)
    stage.give(1)
    stage.operator.close()
    stage.operator.close()
    assert fn.closed == 1
    assert stage.clock.num_active_timers == 0
    stage.at(1_000)
    assert fn.timeouts == {}
    stage.close()


def test_an_operator_that_was_not_opened_can_be_closed() -> None:
    fn = Manual()
    AsyncWaitOperator(fn, timeout=None).close()
    assert fn.closed == 0


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


# --- in a harness


def test_a_harness_runs_it() -> None:
    class Twice(AsyncFunction):
        async def async_invoke(self, value: int) -> list[int]:
            return [value, value]

    with OneInputStreamOperatorTestHarness(
        AsyncWaitOperator(Twice(), timeout=1_000, capacity=2)
    ) as harness:
        harness.open()
        for value in range(10):  # waits while the operator is full
            harness.process_element(value, value)
        harness.process_watermark(9)
        harness.end_input()
        assert harness.extract_output_values() == [value for value in range(10) for _ in range(2)]
        assert harness.get_output()[-1] == Watermark(9)
        assert harness.failure is None
        assert harness.get_metric("numRecordsIn") == 10
        assert harness.get_metric("asyncInFlight") == 0


def test_a_harness_keeps_the_failure() -> None:
    fn = Manual()
    with OneInputStreamOperatorTestHarness(AsyncWaitOperator(fn, timeout=None)) as harness:
        harness.open()
        harness.process_element(1)
        fn.failed(1, KeyError("gone"))
        harness.run_mailbox()
        assert isinstance(harness.failure, KeyError)
