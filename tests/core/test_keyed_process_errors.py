"""The inner loop of a keyed operator when something goes wrong in it."""

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from flinkish._core.operators.keyed_process import KeyedContext
from flinkish._core.state import log as state_log
from tests.core.process_harness import Harness


class Failure(Exception):
    pass


def test_an_error_ends_the_batch_and_loses_nothing_before_it() -> None:
    def function(value: int, context: Any) -> Iterator[int]:
        harness.value.update(value)
        yield value
        if value == 3:
            raise Failure
        yield -value

    harness = Harness(function)
    rows = harness.rows([1, 2, 3, 4])
    with pytest.raises(Failure):
        harness.process.process_batch([1, 2, 3, 4], rows, None)
    assert harness.process.take_output()[0] == [1, -1, 2, -2, 3]
    assert harness.table.current_key() is None
    assert harness.process.last_key == 3
    assert harness.run([4], [4]) == [4, -4], "and the operator can go on"
    harness.table._check()


def test_an_error_in_a_callback_leaves_the_timers_behind_it() -> None:
    def on_timer(timestamp: int, context: Any) -> None:
        harness.list.add(timestamp)
        if timestamp == 2:
            raise Failure

    harness = Harness(lambda value, context: None, on_timer)
    harness.table.set_current_key("key")
    for timestamp in range(5):
        harness.timers.register_event_time_timer(timestamp)
    with pytest.raises(Failure):
        harness.process.advance_watermark(4)
    assert harness.process.next_event_timer() == 3
    harness.process.advance_watermark(4)
    harness.table.set_current_key("key")
    assert harness.list.get() == [0, 1, 2, 3, 4]


def test_an_error_of_the_stop_is_an_error() -> None:
    harness = Harness(lambda value, context: None, lambda timestamp, context: None)
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(1)
    with pytest.raises(ZeroDivisionError):
        harness.process.advance_watermark(1, lambda: 1 / 0)
    assert harness.process.advance_watermark(1)


def test_a_function_does_not_run_its_own_operator() -> None:
    tries: list[Callable[[], Any]] = [
        lambda: harness.process.process(1, None),
        lambda: harness.process.process_batch([1], np.zeros(1, np.uint32), None),
        lambda: harness.process.advance_watermark(5),
        lambda: harness.process.advance_processing_time(5),
    ]

    def function(value: Any, context: Any) -> Iterator[Any]:
        for attempt in tries:
            with pytest.raises(RuntimeError, match="the operator that is running it"):
                attempt()
        assert context.get_current_key() == "key"
        harness.value.update(value)
        yield value

    harness = Harness(function, lambda timestamp, context: function(timestamp, context))
    assert harness.run([7], ["key"]) == [7]
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(1)
    harness.process.advance_watermark(2)
    assert harness.process.take_output()[0] == [1]


def test_a_table_that_is_closed_by_its_function() -> None:
    harness = Harness(lambda value, context: harness.table.close(), None)
    with pytest.raises(RuntimeError, match="closed"):
        harness.run([1, 2], ["a", "b"])
    harness = Harness(print, lambda timestamp, context: harness.table.close())
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(1)
    harness.timers.register_event_time_timer(2)
    with pytest.raises(RuntimeError, match="closed"):
        harness.process.advance_watermark(5)


def test_a_closed_table_runs_nothing() -> None:
    harness = Harness(lambda value, context: [value])
    context = KeyedContext(harness.table, harness.timers)
    harness.table.close()
    rows = np.zeros(1, np.uint32)
    for call in (
        lambda: harness.process.process(1, None),
        lambda: harness.process.process_batch([1], rows, None),
        lambda: harness.process.process_batch([], rows[:0], None),
        lambda: harness.process.advance_watermark(1),
        lambda: harness.process.advance_processing_time(1),
        harness.process.next_event_timer,
        harness.process.next_processing_timer,
    ):
        with pytest.raises(RuntimeError, match="this table is closed"):
            call()
    for call in (
        lambda: harness.timers.register_event_time_timer(1),
        lambda: harness.timers.register_processing_time_timer(1),
        lambda: harness.timers.delete_event_time_timer(1),
        lambda: harness.timers.delete_processing_time_timer(1),
        context.get_current_key,
    ):
        with pytest.raises(RuntimeError, match="current key"):
            call()


def test_rows_are_good_until_the_next_commit() -> None:
    harness = Harness(lambda value, context: harness.value.update(value))
    rows = harness.rows(["kept", "not kept"])
    harness.process.process_batch([1], rows[:1], None)
    state_log.commit(harness.table)
    with pytest.raises(ValueError, match="row 1 is of no key; intern the keys after"):
        harness.process.process_batch([2, 3], rows, None)
    with pytest.raises(ValueError, match="row 4000000000 is of no key"):
        harness.process.process_batch([2], np.array([4 * 10**9], np.uint32), None)
    harness.table._check()
    assert harness.table.number_of_keys == 1


@pytest.mark.parametrize(
    ("rows", "timestamps"),
    [
        (np.zeros(2, np.int64), None),
        (np.zeros(2, np.float64), None),
        (np.zeros(3, np.uint32), None),
        (np.zeros((2, 1), np.uint32), None),
        (np.zeros(4, np.uint32)[::2], None),
        (np.zeros(2, np.uint32), np.zeros(2, np.int32)),
        (np.zeros(2, np.uint32), np.zeros(2, np.float64)),
        (np.zeros(2, np.uint32), np.zeros(3, np.int64)),
        (np.zeros(2, np.uint32), np.zeros(2, "datetime64[ms]")),
        (None, None),
    ],
)
def test_columns_of_another_kind_are_refused(rows: Any, timestamps: Any) -> None:
    harness = Harness(lambda value, context: [value])
    harness.rows(["key"])
    with pytest.raises((ValueError, TypeError)):
        harness.process.process_batch([1, 2], rows, timestamps)
    assert harness.process.processed == 0


def test_the_loop_keeps_no_value() -> None:
    class Value:
        pass

    harness = Harness(lambda value, context: [value])
    values = [Value() for _ in range(5)]
    held = [weakref.ref(value) for value in values]
    harness.process.process_batch(values, harness.rows(["key"] * 5), None)
    del values
    assert all(value() is not None for value in held)
    harness.process.take_output()
    gc.collect()
    assert all(value() is None for value in held)


def test_a_function_may_cut_the_batch_that_it_is_in() -> None:
    values = [*range(1000)]

    def function(value: int, context: KeyedContext) -> Iterator[int]:
        values.clear()
        yield value

    harness = Harness(function)
    with pytest.raises(IndexError):
        harness.run(values, [*range(1000)])
    assert harness.process.take_output()[0] == [0]
