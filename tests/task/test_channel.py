"""Channels between tasks: order, room, ends, and that no wake-up is lost."""

import threading

import pytest

from flinkish.common.elements import StreamRecord
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, IllegalStateError
from flinkish.common.output_tag import OutputTag
from flinkish.task import ElementChannel, InputStatus, StopMode
from tests.waiting import PATIENCE


def record(value: int) -> StreamRecord:
    return StreamRecord(value)


def test_elements_come_in_order_then_the_end() -> None:
    channel = ElementChannel()
    assert channel.input.poll_next() is InputStatus.NOTHING_AVAILABLE
    for number in range(3):
        channel.output.emit(record(number))
    channel.output.end_of_data()
    channel.output.end_of_data()
    polled = [channel.input.poll_next() for _ in range(6)]
    assert polled == [
        *map(record, range(3)),
        InputStatus.END_OF_DATA,
        InputStatus.END_OF_INPUT,
        InputStatus.END_OF_INPUT,
    ]
    with pytest.raises(IllegalStateError, match="after the end"):
        channel.output.emit(record(3))


def test_a_stop_is_told_from_a_drain() -> None:
    channel = ElementChannel()
    channel.output.end_of_data(StopMode.NO_DRAIN)
    assert channel.input.poll_next() is InputStatus.STOPPED
    assert channel.input.poll_next() is InputStatus.END_OF_INPUT


def test_room_comes_back_when_half_was_read() -> None:
    channel = ElementChannel(4)
    for number in range(5):
        assert channel.output.is_available() is (number < 4)
        channel.output.emit(record(number))
    room = channel.output.get_available_future()
    for _ in range(2):
        channel.input.poll_next()
        assert not room.done()
        assert not channel.output.is_available()
    channel.input.poll_next()
    assert room.done()
    assert channel.output.is_available()
    assert channel.output.get_available_future().done()


def test_draining_makes_room() -> None:
    channel = ElementChannel(1)
    channel.output.emit(record(1))
    room = channel.output.get_available_future()
    assert channel.drain() == [record(1)]
    assert room.done()
    assert len(channel) == 0


def test_a_reader_hears_of_elements_and_of_the_end() -> None:
    channel = ElementChannel()
    news = channel.input.get_available_future()
    assert not news.done()
    channel.output.emit(record(1))
    assert news.done()
    assert channel.input.poll_next() == record(1)
    news = channel.input.get_available_future()
    assert not news.done()
    channel.output.end_of_data()
    assert news.done()


def test_callbacks_may_call_in_again() -> None:
    """They are called without the lock."""
    channel = ElementChannel(1)
    channel.output.emit(record(1))
    channel.output.get_available_future().add_done_callback(
        lambda _: channel.output.emit(record(2))
    )
    assert channel.input.poll_next() == record(1)
    assert channel.input.poll_next() == record(2)


def test_side_outputs_are_kept() -> None:
    channel = ElementChannel()
    tag = OutputTag("late")
    channel.output.emit_side(tag, record(1))
    assert channel.side_outputs == {tag: [record(1)]}


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(IllegalArgumentError, match="at least 1"):
        ElementChannel(0)
    with pytest.raises(ArgumentTypeError, match="StopMode"):
        ElementChannel().output.end_of_data("drain")  # type: ignore[arg-type]


@pytest.mark.stress
def test_nothing_is_lost_between_two_threads_that_wait_for_each_other() -> None:
    channel = ElementChannel(3)
    total = 10_000

    def wait(future: object) -> None:
        woken = threading.Event()
        future.add_done_callback(lambda _: woken.set())  # type: ignore[attr-defined]
        assert woken.wait(PATIENCE), "a wake-up was lost"

    def write() -> None:
        for number in range(total):
            while not channel.output.is_available():
                wait(channel.output.get_available_future())
            channel.output.emit(record(number))
        channel.output.end_of_data()

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    while (polled := channel.input.poll_next()) is not InputStatus.END_OF_DATA:
        if polled is InputStatus.NOTHING_AVAILABLE:
            wait(channel.input.get_available_future())
        else:
            seen.append(polled)
    writer.join()
    assert seen == [record(number) for number in range(total)]
