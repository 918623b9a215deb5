"""Spark's input, read ahead by a thread."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from flinkish.common.elements import StreamRecord
from flinkish.spark.tasks.input import BatchReader, RowInput
from flinkish.task import InputStatus
from tests.spark.parts.fake_batches import Feed, numbers
from tests.spark.task_operators import NUMBERS
from tests.waiting import PATIENCE, until

PATIENCE_MS = int(PATIENCE * 1000)


@contextmanager
def reading(feed: Iterator[pa.RecordBatch], **limits: int) -> Iterator[BatchReader]:
    reader = BatchReader(feed, "test", **limits)
    reader.start()
    yield reader
    if isinstance(feed, Feed):
        feed.put(None)
    assert reader.close(PATIENCE_MS)


def test_batches_come_in_order_and_then_the_end() -> None:
    feed = Feed(numbers(1, 2), numbers(3), end=True)
    with reading(feed) as reader:
        until(lambda: feed.drawn == 2)
        seen: list[int] = []
        while not reader.ended():
            reader.get_available_future().result(PATIENCE)
            batch = reader.poll()
            if batch is not None:
                seen += batch.column(0).to_pylist()
        assert seen == [1, 2, 3]
        assert reader.poll() is None
        assert reader.get_available_future().done()


def test_it_waits_on_a_thread_of_its_own() -> None:
    feed = Feed()
    with reading(feed) as reader:
        assert feed.waiting.wait(PATIENCE)
        assert reader.poll() is None
        available = reader.get_available_future()
        assert not available.done()
        assert not reader.ended()
        called: list[threading.Thread] = []
        available.add_done_callback(lambda _: called.append(threading.current_thread()))
        feed.put(numbers(7))
        available.result(PATIENCE)
        until(lambda: called)
        assert called == [feed.thread]
        assert reader.get_available_future().done()
        batch = reader.poll()
        assert batch is not None
        assert batch.column(0).to_pylist() == [7]
        assert not reader.get_available_future().done()


@pytest.mark.parametrize(
    "limits", [{"ahead_rows": 6}, {"ahead_bytes": 6 * 8}], ids=["rows", "bytes"]
)
def test_it_reads_ahead_no_further_than_it_may(limits: dict[str, int]) -> None:
    feed = Feed()
    feed.put_all(numbers(*range(4)) for _ in range(10))
    with reading(feed, **limits) as reader:
        until(lambda: feed.drawn == 2)
        time.sleep(0.05)
        assert feed.drawn == 2, "eight rows wait, and six were asked for"
        reader.poll()
        until(lambda: feed.drawn == 3)
        time.sleep(0.05)
        assert feed.drawn == 3


def test_what_the_iterator_raises_comes_after_what_it_gave() -> None:
    feed = Feed(numbers(1), ConnectionResetError("Spark has gone"))
    with reading(feed) as reader:
        reader.get_available_future().result(PATIENCE)
        assert reader.poll() is not None
        reader.get_available_future().result(PATIENCE)
        until(lambda: not feed.thread or not feed.thread.is_alive())
        with pytest.raises(ConnectionResetError, match="Spark has gone"):
            reader.poll()
        assert not reader.ended()


def test_closing_ends_a_reader_that_waits_for_room() -> None:
    feed = Feed()
    feed.put_all(numbers(*range(4)) for _ in range(10))
    reader = BatchReader(feed, "test", ahead_rows=1)
    reader.start()
    until(lambda: feed.drawn == 1)
    assert reader.close(PATIENCE_MS)
    assert feed.drawn == 1


def test_closing_does_not_wait_for_a_reader_inside_of_the_iterator() -> None:
    feed = Feed()
    reader = BatchReader(feed, "test")
    reader.start()
    assert feed.waiting.wait(PATIENCE)
    assert not reader.close(10)
    feed.put(numbers(1))
    assert reader.close(PATIENCE_MS)
    assert feed.drawn == 1, "it asks for no more once it is out"
    assert reader.poll() is None


def test_closing_a_reader_that_never_started() -> None:
    feed = Feed()
    assert BatchReader(feed, "test").close(PATIENCE_MS)
    assert feed.thread is None


def test_no_wake_up_is_lost() -> None:
    """Whoever finds nothing gets a future that the next batch completes (I2)."""
    count = 3_000
    feed = Feed()
    feeder = threading.Thread(
        target=lambda: feed.put_all([*(numbers(n) for n in range(count)), None])
    )
    feeder.start()
    seen: list[int] = []
    with reading(feed, ahead_rows=3) as reader:
        while not reader.ended():
            batch = reader.poll()
            if batch is None:
                reader.get_available_future().result(PATIENCE)
            else:
                seen += batch.column(0).to_pylist()
        feeder.join()
        assert seen == list(range(count))


# --- rows


def drain(rows: RowInput) -> list[int]:
    values: list[int] = []
    while not rows.ended:
        element = rows.poll_next()
        if isinstance(element, StreamRecord):
            assert element.timestamp is None
            values.append(element.value.n)
        else:
            assert element is InputStatus.NOTHING_AVAILABLE
            rows.get_available_future().result(PATIENCE)
    return values


@pytest.mark.parametrize("sizes", [[], [0], [1], [0, 3, 0], [511, 512, 513], [5_000, 1]])
def test_every_row_is_a_record(sizes: list[int]) -> None:
    ends: list[bool] = []
    feed = Feed(*(numbers(*range(size)) for size in sizes), end=True)
    with reading(feed) as reader:
        rows = RowInput(reader, lambda: ends.append(True))
        assert drain(rows) == [n for size in sizes for n in range(size)]
        assert ends == [True]
        assert rows.poll_next() is InputStatus.NOTHING_AVAILABLE
        assert ends == [True], "it is said once"


def test_the_last_row_is_known_by_number() -> None:
    feed = Feed(*(numbers(*range(1_000)) for _ in range(3)), end=True)
    with reading(feed) as reader:
        rows = RowInput(reader, lambda: None)
        assert rows.last_row() is None
        taken = 0
        while not rows.ended:
            if isinstance(rows.poll_next(), StreamRecord):
                taken += 1
            last = rows.last_row()
            if last is not None:
                assert (last[0], last[1].n) == (taken - 1, (taken - 1) % 1_000)
        assert taken == 3_000


def test_rows_have_the_names_of_their_columns() -> None:
    feed = Feed(numbers(5), end=True)
    with reading(feed) as reader:
        rows = RowInput(reader, lambda: None)
        reader.get_available_future().result(PATIENCE)
        record = rows.poll_next()
        assert isinstance(record, StreamRecord)
        assert record.value.as_dict() == {"n": 5}
        assert record.value == record.value
    assert NUMBERS.names == ["n"]
