"""A task on the batches of a partition, without Spark."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timezone
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common.elements import StreamRecord
from flinkish.common.errors import SchemaMismatchError
from flinkish.operators import KeyedProcessOperator, ProcessOperator, StreamOperator
from flinkish.spark.tasks import output as task_output
from flinkish.spark.tasks.plan import TaskPlan
from flinkish.spark.tasks.run import SparkTask, Subtask
from flinkish.task import TaskState
from tests.spark.parts.fake_batches import Feed, numbers
from tests.spark.task_operators import NUMBERS, Count, FailsAt, Heart, Identity, Later, Life
from tests.waiting import PATIENCE, until


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    until(lambda: set(threading.enumerate()) <= before)


def task(make: Callable[[], StreamOperator], feed: Any, **plan: Any) -> SparkTask:
    given: dict[str, Any] = {
        "name": "numbers",
        "make_operator": make,
        "output": NUMBERS,
        "output_type": None,
        "sides": (),
        "time_zone": timezone.utc,
    }
    return SparkTask(TaskPlan(**given | plan), feed, Subtask(partition=3, attempt=1))


def rows(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [n for batch in batches for n in batch.column(0).to_pylist()]


def identity() -> StreamOperator:
    return ProcessOperator(Identity())


@pytest.mark.parametrize("sizes", [[], [0], [1], [10_000] * 3, [7, 20_000, 0, 513]])
def test_rows_in_rows_out(sizes: list[int]) -> None:
    feed = Feed(*(numbers(*range(size)) for size in sizes), end=True)
    running = task(identity, feed)
    batches = list(running.run())
    assert rows(iter(batches)) == [n for size in sizes for n in range(size)]
    assert all(batch.schema == NUMBERS for batch in batches)
    assert all(0 < batch.num_rows <= task_output.BATCH_ROWS for batch in batches)
    assert running.state is TaskState.FINISHED


def test_the_life_of_an_operator() -> None:
    events: list[str] = []
    assert list(task(lambda: Life(events), Feed(numbers(1, 2), end=True)).run()) == []
    assert events == ["open", "row 1", "row 2", "end_input", "finish", "close"]


def test_timers_are_served_while_the_input_idles() -> None:
    feed = Feed()
    beats = task(lambda: Heart(1), feed).run()
    first = next(beats)
    assert feed.waiting.wait(PATIENCE), "nothing came in, and what beats came out"
    assert first.column(0).to_pylist()[0] == 1
    feed.put(numbers(5))
    next(beats)
    feed.put(None)
    list(beats)


def test_completions_are_served_while_the_input_idles() -> None:
    feed = Feed(numbers(*range(40)))
    batches = task(lambda: Later(0.001), feed).run()
    seen: list[int] = []
    while len(seen) < 40:
        seen += next(batches).column(0).to_pylist()
    assert feed.waiting.wait(PATIENCE), "for there is nothing more"
    assert sorted(seen) == list(range(40))
    feed.put(None)
    assert list(batches) == []


def test_output_leaves_while_there_is_input() -> None:
    """What is old leaves, even if the operator is never without something to do."""
    ahead, left = threading.Semaphore(50), threading.Event()
    given: list[int] = []

    def for_as_long_as_nothing_leaves() -> Iterator[pa.RecordBatch]:
        while not left.is_set():
            if ahead.acquire(timeout=0.1):
                given.append(len(given))
                yield numbers(given[-1])

    slow = Slow(ahead.release)
    batches = task(lambda: ProcessOperator(slow), for_as_long_as_nothing_leaves()).run()
    first = next(batches)
    assert first.num_rows > 0
    left.set()
    assert rows(iter([first])) + rows(batches) == given


class Slow(Identity):
    """Tells of each row that it is done with it."""

    def __init__(self, done: Callable[[], object]) -> None:
        self.done = done

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        time.sleep(0.002)
        yield value
        self.done()


def test_while_spark_has_a_batch_nothing_runs() -> None:
    heart = Heart(1)
    feed = Feed()
    beats = task(lambda: heart, feed).run()
    next(beats)
    before = heart.beats
    time.sleep(0.05)
    assert heart.beats == before, "its mails wait"
    next(beats)
    assert heart.beats > before
    feed.put(None)
    list(beats)


def test_timers_that_are_left_never_fire() -> None:
    """At the end of its input a task has no time left, as in Flink (A.51)."""
    feed = Feed(numbers(1), end=True)
    assert list(task(lambda: Heart(1_000_000), feed).run()) == []


def test_keys_at_home_in_one_task() -> None:
    feed = Feed(numbers(1, 2, 1), numbers(1, 3), end=True)
    counts = pa.schema([("n", pa.int64()), ("count", pa.int64())])
    running = task(
        lambda: KeyedProcessOperator(Count()),
        feed,
        output=counts,
        key_columns=("n",),
        key_type="long",
    )
    found = [row for batch in running.run() for row in batch.to_pylist()]
    assert {row["n"]: row["count"] for row in found} == {1: 3, 2: 1, 3: 1}


def test_a_failing_operator_while_the_reader_waits() -> None:
    feed = Feed(numbers(0, 1, 2, 3))
    running = task(lambda: ProcessOperator(FailsAt(2)), feed)
    with pytest.raises(ValueError, match="cannot stand 2") as caught:
        list(running.run())
    assert running.state is TaskState.FAILED
    notes = "\n".join(caught.value.__notes__)
    assert "raised in FailsAt.process_element" in notes
    assert "in task 'numbers', partition 3, attempt 1" in notes
    assert "row it had taken was number 2, Row(n=2)" in notes
    feed.put(None)


def test_a_timer_that_fails() -> None:
    class Breaks(Heart):
        def beat(self, timestamp: int) -> None:
            raise ValueError("no pulse")

    feed = Feed()
    with pytest.raises(ValueError, match="no pulse") as caught:
        list(task(lambda: Breaks(1), feed).run())
    assert "in task 'numbers', partition 3" in "\n".join(caught.value.__notes__)
    feed.put(None)


def test_a_value_that_does_not_fit() -> None:
    class Wrong(StreamOperator):
        def process_element(self, record: StreamRecord) -> None:
            self.output.emit(StreamRecord(("text",)))

    feed = Feed(numbers(1), end=True)
    with pytest.raises(SchemaMismatchError, match=r"task 'numbers'.*\('text',\)"):
        list(task(Wrong, feed).run())


def test_an_input_that_fails() -> None:
    events: list[str] = []
    feed = Feed(numbers(1), ConnectionResetError("Spark has gone"))
    running = task(lambda: Life(events), feed)
    with pytest.raises(ConnectionResetError, match="Spark has gone"):
        list(running.run())
    assert events == ["open", "row 1", "close"]


def test_an_operator_that_does_not_open_reads_nothing() -> None:
    class Shut(Life):
        def open(self) -> None:
            raise ValueError("shut")

    events: list[str] = []
    feed = Feed(numbers(1))
    with pytest.raises(ValueError, match="shut"):
        list(task(lambda: Shut(events), feed).run())
    assert feed.thread is None
    assert events == ["close"]


@pytest.mark.parametrize("idle", [True, False], ids=["reader waits", "reader has ended"])
def test_spark_wants_no_more(idle: bool) -> None:
    feed = Feed(*(numbers(*range(10_000)) for _ in range(2)), end=not idle)
    later = Later(0.0)
    running = task(lambda: later, feed)
    batches = running.run()
    next(batches)
    batches.close()
    assert running.state is TaskState.CANCELED
    assert later.life.value == "closed"
    feed.put(None)


def test_an_error_of_closing_is_not_lost() -> None:
    class Leaves(Life):
        def close(self) -> None:
            super().close()
            raise OSError("the door is stuck")

    with pytest.raises(OSError, match="the door is stuck"):
        list(task(lambda: Leaves([]), Feed(end=True)).run())


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_between_threads(seed: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice([0, 1, 5, 300]) for _ in range(20)]
    feed = Feed()

    def put() -> None:
        at = 0
        for size in sizes:
            time.sleep(chance.random() * 0.003)
            feed.put(numbers(*range(at, at + size)))
            at += size
        feed.put(None)

    feeder = threading.Thread(target=put)
    feeder.start()
    seen = rows(task(lambda: Later(0.0001), feed).run())
    feeder.join()
    assert sorted(seen) == list(range(sum(sizes)))


def test_many_tasks_leave_no_thread() -> None:
    for _ in range(50):
        assert rows(task(lambda: Later(0.0), Feed(numbers(1), end=True)).run()) == [1]


class Watched(Later):
    """Fails at a row, or when a row is done, and counts how often it was closed."""

    def __init__(self, fails_at: int, when_done: bool) -> None:
        super().__init__(0.0002)
        self.fails_at, self.when_done = fails_at, when_done
        self.closed = 0

    def process_element(self, record: StreamRecord) -> None:
        if record.value.n == self.fails_at and not self.when_done:
            raise ValueError("at a row")
        super().process_element(record)

    def done(self, record: StreamRecord) -> None:
        if record.value.n == self.fails_at and self.when_done:
            raise ValueError("when a row is done")
        super().done(record)

    def close(self) -> None:
        self.closed += self.life.value != "closed"
        super().close()


@pytest.mark.parametrize("seed", range(12))
def test_it_may_end_at_any_moment(seed: int) -> None:
    """However a task ends, its operator is closed once and its threads are gone."""
    chance = random.Random(seed)
    ends = chance.choice(["closed", "at a row", "when a row is done", "no input", "well"])
    rows_in, at = 400, chance.randrange(300)
    feed = Feed()
    for start in range(0, rows_in, 40):
        if ends == "no input" and start >= at:
            feed.put(ConnectionResetError("no input"))
            break
        feed.put(numbers(*range(start, start + 40)))
    idle = ends != "well" and chance.random() < 0.5
    if not idle:
        feed.put(None)
    operator = Watched(at if ends.endswith(("row", "done")) else -1, ends.endswith("done"))
    running = task(lambda: operator, feed)
    batches = running.run()
    seen: list[int] = []
    if ends == "closed":
        for _ in range(chance.randrange(1, 4)):
            seen += rows(iter([next(batches)]))
        batches.close()
        assert running.state is TaskState.CANCELED
    elif ends == "well":
        assert sorted(rows(batches)) == list(range(rows_in))
        assert running.state is TaskState.FINISHED
    else:
        with pytest.raises((ValueError, ConnectionResetError), match=ends):
            seen += rows(batches)
        assert running.state is TaskState.FAILED
    assert operator.closed == 1
    assert len(seen) == len(set(seen))
    feed.put(None)
