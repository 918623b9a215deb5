"""The inner loop of a keyed operator: calls in, output out, timers in between."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flinkish._core.operators.keyed_process import KeyedContext, KeyedProcess, KeyedTimerService
from flinkish._core.state import log as state_log
from flinkish._core.state.table import StateTable
from flinkish._core.values.row import Row
from tests.core.process_harness import EVENT, HIGHEST, LOWEST, PROCESSING, Harness, Tag


def generator(value: Any, context: Any) -> Iterator[Any]:
    yield value
    yield value


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        (generator, [1, 2], [1, 1, 2, 2]),
        (lambda value, context: [value, -value], [1, 2], [1, -1, 2, -2]),
        (lambda value, context: (value, -value), [1], [1, -1]),
        (lambda value, context: iter([value]), [1], [1]),
        (lambda value, context: range(value), [3], [0, 1, 2]),
        (lambda value, context: None, [1, 2], []),
        (lambda value, context: [], [1, 2], []),
        (lambda value, context: [None, (1, 2), (1, 2, 3)], [1], [None, (1, 2), (1, 2, 3)]),
        (lambda value, context: [Row(a=value)], [1], [Row(a=1)]),
    ],
)
def test_what_a_function_may_give(function: Any, given: list[int], expected: list[Any]) -> None:
    harness = Harness(function)
    assert not harness.process.has_output
    assert harness.run(given, ["key"] * len(given)) == expected
    assert harness.process.processed == len(given)
    assert harness.process.take_output() == ([], [], {})


@pytest.mark.parametrize("wrong", ["text", b"bytes", {"a": 1}, Row(a=1), 7, True, object()])
def test_what_a_function_may_not_give(wrong: Any) -> None:
    harness = Harness(lambda value, context: wrong, lambda timestamp, context: wrong)
    with pytest.raises(TypeError, match=r"process_element returned .* of type .*yield each output"):
        harness.run([1], ["key"])
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(1)
    with pytest.raises(TypeError, match=r"on_timer returned .* of type .*yield each output"):
        harness.process.advance_watermark(1)


def test_side_outputs_are_told_by_their_tags() -> None:
    late, odd = Tag("late"), Tag("odd")

    def function(value: int, context: Any) -> Iterator[Any]:
        yield value
        if value % 2:
            yield odd, value
        yield late, (odd, value)
        yield value, late

    harness = Harness(function)
    harness.process.process_batch([1, 2], harness.rows(["a", "b"]), np.array([10, 20]))
    assert harness.process.has_output
    values, timestamps, sides = harness.process.take_output()
    assert values == [1, (1, late), 2, (2, late)]
    assert timestamps == [10, 10, 20, 20]
    assert sides == {odd: ([1], [10]), late: ([(odd, 1), (odd, 2)], [10, 20])}


def test_a_context_knows_key_and_timestamp() -> None:
    seen = []

    def function(value: Any, context: KeyedContext) -> None:
        service = context.timer_service()
        assert service is harness.timers is context.timers
        seen.append((context.get_current_key(), context.timestamp()))
        seen.append((service.current_watermark(), service.current_processing_time()))

    harness = Harness(function)
    harness.table.watermark, harness.table.processing_time = 5, 7
    harness.run([1, 2, 3], ["a", (1, 2), "a"], [10, LOWEST, -3])
    assert seen[::2] == [("a", 10), ((1, 2), None), ("a", -3)]
    assert set(seen[1::2]) == {(5, 7)}
    harness.run([1], ["b"])
    assert seen[-2] == ("b", None)
    assert harness.process.late == 1
    harness.table.set_current_key("one by one")
    harness.process.process("value", 4)
    harness.process.process("value", None)
    assert seen[-4::2] == [("one by one", 4), ("one by one", None)]
    assert harness.process.late == 2


def test_late_elements_are_counted_and_processed() -> None:
    """An element at the watermark is late, as a timer there is due (Flink: B.6)."""
    harness = Harness(lambda value, context: [value])
    harness.table.watermark = 10
    assert harness.run([9, 10, 11], ["k"] * 3, [9, 10, 11]) == [9, 10, 11]
    assert harness.process.late == 2


# --- timers


def test_timers_fire_in_order_with_their_key_and_domain() -> None:
    """By time, equal times in order of registration; each once (Flink: B.1, B.6)."""
    fired = []

    def on_timer(timestamp: int, context: Any) -> list[Any]:
        fired.append((timestamp, context.get_current_key(), context.time_domain()))
        assert context.timestamp() == timestamp
        return [timestamp]

    harness = Harness(lambda value, context: None, on_timer)
    for key, timestamp in [("a", 30), ("b", 10), ("c", 30), ("a", 10), ("b", 10), ("a", 31)]:
        harness.table.set_current_key(key)
        harness.timers.register_event_time_timer(timestamp)
        harness.timers.register_processing_time_timer(timestamp)
    assert harness.timers.registered == 10
    assert harness.process.next_event_timer() == harness.process.next_processing_timer() == 10
    assert harness.process.advance_watermark(9)
    assert fired == []
    assert harness.process.advance_watermark(30)
    expected = [(10, "b"), (10, "a"), (30, "a"), (30, "c")]
    assert fired == [(*timer, EVENT) for timer in expected]
    assert harness.process.next_event_timer() == 31
    fired.clear()
    assert harness.process.advance_processing_time(30)
    assert fired == [(*timer, PROCESSING) for timer in expected]
    assert harness.process.fired == 8, "of both domains (Flink: B.13)"
    # Output of an event-time timer carries its timestamp, of the other none (Flink: B.25).
    values, timestamps, _ = harness.process.take_output()
    assert values == [10, 10, 30, 30] * 2
    assert timestamps == [10, 10, 30, 30] + [None] * 4


def test_timers_registered_by_callbacks_fire_in_the_same_advance() -> None:
    """Those at or before the watermark, the past included (Flink: B.8)."""
    fired = []

    def on_timer(timestamp: int, context: Any) -> None:
        service = context.timer_service()
        fired.append((timestamp, service.current_watermark()))
        if timestamp == 10:
            for other in (30, 5, 61):
                service.register_event_time_timer(other)
            service.delete_event_time_timer(45)

    harness = Harness(lambda value, context: None, on_timer)
    harness.table.set_current_key("key")
    for timestamp in (10, 45, 60):
        harness.timers.register_event_time_timer(timestamp)
    harness.process.advance_watermark(60)
    assert fired == [(10, 60), (5, 60), (30, 60), (60, 60)]
    assert harness.process.next_event_timer() == 61


def test_a_timer_is_gone_when_it_fires() -> None:
    """It may be registered again in its own callback (Flink: B.7)."""
    rounds = []

    def on_timer(timestamp: int, context: Any) -> None:
        rounds.append(timestamp)
        context.timer_service().delete_event_time_timer(timestamp)
        if len(rounds) < 5:
            context.timer_service().register_event_time_timer(timestamp)

    harness = Harness(lambda value, context: None, on_timer)
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(1)
    harness.process.advance_watermark(1)
    assert rounds == [1] * 5
    assert harness.timers.deleted == 0


def test_an_advance_can_be_stopped_between_timers() -> None:
    """The rest stays for the next advance (Flink: B.14)."""
    harness = Harness(lambda value, context: None, lambda timestamp, context: [timestamp])
    harness.table.set_current_key("key")
    for timestamp in range(10):
        harness.timers.register_event_time_timer(timestamp)
    asked = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) % 3 == 0

    assert harness.process.advance_watermark(8, stop) is False
    assert harness.process.take_output()[0] == [0, 1, 2]
    assert harness.process.next_event_timer() == 3
    assert harness.process.advance_watermark(8, lambda: False) is True
    assert harness.process.take_output()[0] == [3, 4, 5, 6, 7, 8]


def test_without_a_callback_timers_just_go() -> None:
    harness = Harness(lambda value, context: None)
    harness.table.set_current_key("key")
    for timestamp in range(10):
        harness.timers.register_event_time_timer(timestamp)
    harness.process.advance_watermark(4)
    assert harness.table.number_of_event_timers == 5
    assert harness.process.fired == 5


def test_an_earlier_head_is_announced() -> None:
    harness = Harness(lambda value, context: None)
    harness.table.set_current_key("key")
    for timestamp in (50, 70, 20, 20, HIGHEST, LOWEST):
        harness.timers.register_processing_time_timer(timestamp)
        harness.timers.register_event_time_timer(timestamp)
    assert harness.earlier == [50, 20, LOWEST]


def test_processing_time_can_be_refused() -> None:
    harness = Harness(lambda value, context: None, refusal="not here: ask for it")
    harness.table.set_current_key("key")
    with pytest.raises(RuntimeError, match="not here: ask for it"):
        harness.timers.register_processing_time_timer(1)
    harness.timers.register_event_time_timer(1)


@pytest.mark.parametrize("bad", [1.5, "1", None, 2**63, -(2**63) - 1, [1]])
@pytest.mark.parametrize("method", ["register", "delete"])
@pytest.mark.parametrize("domain", ["event", "processing"])
def test_a_timer_is_at_an_int_of_milliseconds(bad: Any, method: str, domain: str) -> None:
    harness = Harness(lambda value, context: None)
    harness.table.set_current_key("key")
    call = getattr(harness.timers, f"{method}_{domain}_time_timer")
    with pytest.raises((TypeError, ValueError), match="milliseconds"):
        call(bad)
    call(np.int64(5))
    call(True)


def test_timers_keep_their_key_alive_and_no_longer() -> None:
    harness = Harness(lambda value, context: None)
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(5)
    assert state_log.commit(harness.table)
    assert harness.table.number_of_keys == 1
    harness.process.advance_watermark(5)
    assert state_log.commit(harness.table)
    assert harness.table.number_of_keys == 0


def test_a_batch_may_be_of_two_inputs() -> None:
    table = StateTable(0)
    process = KeyedProcess(
        table,
        KeyedTimerService(table),
        lambda value, ctx: [("first", value)],
        None,
        Tag,
        EVENT,
        PROCESSING,
        lambda value, ctx: [("second", value, ctx.get_current_key())],
    )
    rows = np.empty(3, np.uint32)
    table.intern_objects(["a", "b", "a"], None, rows)
    process.process_batch([1, 2, 3], rows, None, np.array([2, 1, 2], np.uint8))
    process.input = 1
    process.process_batch([4], rows[:1], None)
    table.set_current_key("b")
    process.input = 2
    process.process(5, None)
    assert process.take_output()[0] == [
        ("second", 1, "a"),
        ("first", 2),
        ("second", 3, "a"),
        ("first", 4),
        ("second", 5, "b"),
    ]
    with pytest.raises(ValueError, match="as many rows, timestamps and inputs"):
        process.process_batch([1, 2], rows[:2], None, np.ones(1, np.uint8))


def heartbeat(timestamp: int, context: Any) -> list[int]:
    """A timer that registers the next one, for ever, on both clocks."""
    context.timer_service().register_event_time_timer(timestamp + 60_000)
    context.timer_service().register_processing_time_timer(timestamp + 60_000)
    return [timestamp]


def test_a_service_that_quiesces_ignores_timers_at_the_end_of_time() -> None:
    """Flink: B.28; what was registered before fires, on both clocks."""
    harness = Harness(generator, heartbeat)
    harness.timers.quiesces = True
    harness.rows(["key"])
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(1_000)
    harness.timers.register_processing_time_timer(2_000)
    assert harness.process.advance_watermark(200_000)
    assert harness.process.take_output()[0] == [1_000, 61_000, 121_000, 181_000], "before the end"
    assert harness.process.advance_watermark(HIGHEST)
    assert harness.process.advance_processing_time(HIGHEST)
    # 2,000, and those of the four timers before the end.
    assert harness.process.take_output()[0] == [241_000, 2_000, 61_000, 121_000, 181_000, 241_000]
    assert harness.timers.ignored == 12
    assert harness.process.next_event_timer() is harness.process.next_processing_timer() is None
    harness.table.watermark = LOWEST  # the next key
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(7)
    assert harness.process.next_event_timer() == 7


def test_another_service_fires_them_and_refuses_a_chain_without_end() -> None:
    """In Flink's streaming mode such a chain hangs; one that ends fires to its last timer."""

    def until_6_days(timestamp: int, context: Any) -> None:
        if timestamp < 6 * 24 * 60 * 60_000:
            context.timer_service().register_event_time_timer(timestamp + 60_000)

    harness = Harness(generator, until_6_days)
    for key in ("a", "b"):
        harness.table.intern_objects([key], None, np.empty(1, np.uint32))
        harness.table.set_current_key(key)
        harness.timers.register_event_time_timer(0)
    harness.timers.most_chained = 100
    harness.process.advance_watermark(HIGHEST)
    assert harness.process.fired == 2 * (6 * 24 * 60 + 1)
    assert harness.timers.ignored == 0


def test_a_chain_without_end_in_pieces_is_refused() -> None:
    """The loop comes back again and again for output to be taken."""
    harness = Harness(generator, heartbeat)
    harness.timers.most_chained = 100
    harness.process.output_limit = 7
    harness.rows(["key"])
    harness.table.set_current_key("key")
    harness.timers.register_event_time_timer(0)

    def advance() -> None:
        while not harness.process.advance_watermark(HIGHEST):
            harness.process.take_output()

    with pytest.raises(RuntimeError, match=r"registered 10001 timers after the end of the input"):
        advance()


def test_a_chain_on_processing_time_is_refused_too() -> None:
    """A timer for now, again and again."""

    def again(timestamp: int, context: Any) -> None:
        service = context.timer_service()
        service.register_processing_time_timer(service.current_processing_time())

    harness = Harness(generator, again)
    harness.timers.most_chained = 100
    harness.rows(["key"])
    harness.table.set_current_key("key")
    harness.timers.register_processing_time_timer(0)
    assert harness.process.advance_watermark(HIGHEST)
    with pytest.raises(RuntimeError, match=r"registered 10001 timers after the end of the input"):
        harness.process.advance_processing_time(1)


def test_elements_after_the_end_of_time_are_not_taken_for_a_chain() -> None:
    def registers(value: int, context: Any) -> None:
        context.timer_service().register_event_time_timer(value)

    harness = Harness(registers, lambda timestamp, context: [timestamp])
    harness.timers.most_chained = 1
    harness.table.watermark = HIGHEST
    harness.run(list(range(20_000)), ["key"] * 20_000)
    harness.process.advance_watermark(HIGHEST)
    assert len(harness.process.take_output()[0]) == 20_000
