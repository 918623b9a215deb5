"""The timer by the system's clock: Kafka's cases, and what its executor may do."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    RejectedExecutionError,
)
from flinkish.purgatory import (
    ManualTimer,
    SystemTimer,
    TimerTask,
    TimerTaskState,
    runners,
)
from flinkish.purgatory.runners import Runners
from tests.purgatory.operations import Recorded, ended, in_thread
from tests.waiting import PATIENCE, until


@pytest.fixture(params=[True, False], ids=["reaper", "by hand"])
def timer(request: pytest.FixtureRequest) -> Iterator[SystemTimer]:
    """Kafka's test timer: three buckets."""
    with SystemTimer("test", 1, 3, reaper_enabled=request.param) as timer:
        yield timer


def test_tasks_that_are_due_run_at_once(timer: SystemTimer) -> None:
    """K.2 [TimerTest.testAlreadyExpiredTask]: and they are not counted in size."""
    ran: list[object] = []
    tasks = [Recorded(delay, delay, ran) for delay in range(-5, 1)]
    for task in tasks:
        timer.add(task)
    assert timer.size() == 0
    for task in tasks:
        assert task.done.wait(PATIENCE)
    assert ran == list(range(-5, 1))


def test_each_task_runs_once(timer: SystemTimer) -> None:
    """K.1, K.3, K.8, K.9, K.12 [TimerTest.testTaskExpiration]: through levels of three buckets."""
    ran: list[object] = []
    tasks = [Recorded(delay, delay, ran) for delay in [*range(5), *range(10, 50, 2), 9, 17, 17]]
    for task in tasks:
        timer.add(task)
    for task in tasks:
        while not task.done.wait(0.01):
            timer.advance_clock(2000)
    assert sorted(ran) == sorted(task.name for task in tasks)  # type: ignore[type-var]
    assert timer.size() == 0
    assert timer.statistics().expired == len(tasks)


def test_advance_clock_waits_for_one_bucket(timer: SystemTimer) -> None:
    """K.4: at most the timeout; true if one expired."""
    assert not timer.advance_clock(0)
    assert not timer.advance_clock(1)
    ran: list[object] = []
    timer.add(Recorded(3_600_000, "late", ran))
    assert not timer.advance_clock(0)
    timer.add(Recorded(20, "a", ran))
    assert timer.advance_clock(60_000)
    assert not timer.advance_clock(0)
    for _ in range(100):
        timer.add(gone := Recorded(50, "b", ran))
        # A busy machine may take as long until here: then it was taken out before.
        if not gone.cancel():
            assert timer.advance_clock(60_000)
        elif not timer.advance_clock(70):
            return
    pytest.fail("a bucket whose tasks are cancelled counts, and ours should be gone")


def test_nothing_is_early_nor_lost() -> None:
    """K.10, K.11: by the clock that starts before the add."""
    early = []

    class Timed(TimerTask):
        def __init__(self, delay: int) -> None:
            super().__init__(delay)
            self.begin = time.monotonic_ns()
            self.done = threading.Event()

        def run(self) -> None:
            early.append(self.begin + self.delay_ms * 1_000_000 - time.monotonic_ns())
            self.done.set()

    with SystemTimer("exact") as timer, SystemTimer("coarse", tick_ms=10) as coarse:
        tasks = [Timed(delay) for delay in range(1, 40)]
        for task in tasks:
            (timer if task.delay_ms % 2 else coarse).add(task)
        for task in tasks:
            assert task.done.wait(PATIENCE)
    assert len(early) == len(tasks)
    assert max(early) <= 0


def test_a_coarse_tick_rounds_up() -> None:
    """K.11: in Kafka tick 10 and delay 19 fire at +10."""
    timer, ran = ManualTimer(tick_ms=10), []
    timer.add(Recorded(19, "a", ran))
    timer.advance_clock(19)
    assert ran == []
    timer.advance_clock(1)
    assert ran == ["a"]


def test_an_earlier_add_wakes_the_reaper() -> None:
    """K.10, K.16."""
    ran: list[object] = []
    with SystemTimer("wakes") as timer:
        timer.add(late := Recorded(3_600_000, "late", ran))
        timer.add(soon := Recorded(1, "soon", ran))
        assert soon.done.wait(PATIENCE)
        assert not late.done.is_set()
        assert timer.size() == 1
    assert late.state is TimerTaskState.CANCELLED


def test_close_stops_the_reaper_once() -> None:
    """K.7, K.16 [SystemTimerReaperTest.testClose]."""
    timer = SystemTimer("closes")
    ran: list[object] = []
    timer.add(Recorded(3_600_000, "late", ran))
    timer.add(due := Recorded(0, "due", ran))
    timer.close()
    timer.close()
    assert due.done.is_set(), "what was handed over still runs"
    with pytest.raises(RejectedExecutionError, match="before close"):
        timer.add(Recorded(0, "b", ran))
    statistics = timer.statistics()
    assert (statistics.pending, statistics.cancelled_by_close, statistics.expired) == (0, 1, 1)
    assert ran == ["due"]
    assert not timer.advance_clock(0)


def test_close_wakes_who_waits(timer: SystemTimer) -> None:
    timer.add(Recorded(3_600_000, "late", []))
    waiting = in_thread(lambda: timer.advance_clock(3_600_000))
    time.sleep(0.01)
    timer.close()
    ended(waiting)


def test_close_wakes_a_driver_that_had_just_looked(timer: SystemTimer) -> None:
    """The timer closes after its driver looked whether it is closed, and before it sleeps."""
    closing: list[threading.Thread] = []

    class Alarm(threading.Event):
        def clear(self) -> None:
            if not closing:
                closing.append(in_thread(timer.close))
                until(lambda: timer.closed and self.is_set())
            super().clear()

    timer._alarm = Alarm()
    timer.add(Recorded(3_600_000, "late", []))
    waiting = in_thread(lambda: timer.advance_clock(3_600_000))
    until(lambda: closing)
    ended(closing[0])
    ended(waiting)


def test_a_task_may_close_its_timer() -> None:
    timer = SystemTimer("suicide")
    closed = threading.Event()

    class Closing(TimerTask):
        def run(self) -> None:
            timer.close()
            closed.set()

    timer.add(Closing(1))
    assert closed.wait(PATIENCE)


def test_a_task_may_add_itself() -> None:
    with SystemTimer("again") as timer:
        done = threading.Event()

        class Again(TimerTask):
            runs = 0

            def run(self) -> None:
                self.runs += 1
                if self.runs < 20:
                    timer.add(self)
                else:
                    done.set()

        timer.add(task := Again(1))
        timer.add(at_once := Again(0))
        assert done.wait(PATIENCE)
        while task.runs < 20 or at_once.runs < 20:
            time.sleep(0.001)


def test_cancel_wins_while_the_task_waits_for_the_executor() -> None:
    """K.15: it was taken out of the wheel, but it has not begun."""
    ran: list[object] = []
    gate = threading.Event()

    class Blocking(TimerTask):
        def run(self) -> None:
            gate.wait(PATIENCE)

    with SystemTimer("cancels") as timer:
        timer.add(Blocking(0))
        timer.add(queued := Recorded(0, "queued", ran))
        assert queued.cancel()
        gate.set()
    assert ran == []


def test_a_slow_task_holds_up_no_other_thread_of_the_executor() -> None:
    gate = threading.Event()

    class Blocking(TimerTask):
        def run(self) -> None:
            gate.wait(PATIENCE)

    ran: list[object] = []
    with ThreadPoolExecutor(3) as executor, SystemTimer("slow", executor=executor) as timer:
        timer.add(Blocking(5))
        timer.add(Blocking(5))
        timer.add(task := Recorded(5, "fast", ran))
        assert task.done.wait(PATIENCE)
        gate.set()


@pytest.mark.parametrize("together", [True, False])
def test_slow_tasks_leave_the_other_threads_to_what_comes_later(together: bool) -> None:
    """Slow tasks hold two threads of three: all that is due later runs on the third, each time."""
    gate = threading.Event()

    class Blocking(Recorded):
        def run(self) -> None:
            super().run()
            gate.wait()

    ran: list[object] = []
    with ThreadPoolExecutor(3) as executor, SystemTimer("slow", 200, executor=executor) as timer:
        slow = [Blocking(100 * together, "slow", ran) for _ in range(2)]
        try:
            for task in slow:
                timer.add(task)
                assert together or task.done.wait(PATIENCE)
            if together:  # one bucket: its third task ends and takes the batch out of the queue
                timer.add(Recorded(100, "slow", ran))
            for task in slow:
                assert task.done.wait(PATIENCE)
            for turn in range(20):
                timer.add(task := Recorded(0, turn, ran))
                assert task.done.wait(PATIENCE)
        finally:
            gate.set()
    assert [name for name in ran if name != "slow"] == list(range(20))


def test_the_hand_over_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's queue is not: a slow executor leaves tasks in the wheel, and adds go on."""
    monkeypatch.setattr(runners, "HAND_OVER", 10)
    gate, ran = threading.Event(), []

    class Blocking(TimerTask):
        def run(self) -> None:
            gate.wait(PATIENCE)

    with SystemTimer("bounded") as timer:
        timer.add(Blocking(0))
        tasks = [Recorded(delay, (delay, i), ran) for delay in (0, 1, 2) for i in range(20)]
        for task in tasks:
            timer.add(task)
        time.sleep(0.02)
        statistics = timer.statistics()
        assert statistics.handed_over <= 10 + 1
        assert statistics.pending == len(tasks) + 1 - statistics.handed_over
        assert all(task.cancel() for task in tasks[::3])
        gate.set()
        for task in tasks:
            assert task.is_cancelled() or task.done.wait(PATIENCE)
    assert len(ran) == len(tasks) - len(tasks[::3])
    # What was due at once and found no room waits in the wheel behind nobody.
    assert [name for name in ran if name[0] == 2] == [(2, i) for i in range(20) if (40 + i) % 3]


def test_an_executor_that_was_shut_down_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    ran: list[object] = []
    with SystemTimer("orphan", executor=executor) as timer:
        timer.add(Recorded(0, "now", ran))
        assert ran == ["now"], "on the adding thread, for want of another"
        timer.add(later := Recorded(1, "later", ran))
        assert later.done.wait(PATIENCE)
    assert "takes no tasks" in caplog.text


def test_an_executor_that_runs_inline() -> None:
    class Inline(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            fn(*args, **kwargs)
            return Future()

    ran: list[object] = []
    with SystemTimer("inline", executor=Inline()) as timer:
        timer.add(Recorded(0, "now", ran))
        assert ran == ["now"]
        timer.add(later := Recorded(1, "later", ran))
        assert later.done.wait(PATIENCE)


def test_the_callers_executor_stays_open() -> None:
    with ThreadPoolExecutor(1) as executor:
        SystemTimer("guest", executor=executor).close()
        assert executor.submit(lambda: 7).result() == 7


def test_bad_arguments() -> None:
    with pytest.raises(IllegalArgumentError, match="tick_ms"):
        SystemTimer("bad", tick_ms=0)
    with pytest.raises(IllegalArgumentError, match="wheel_size"):
        SystemTimer("bad", wheel_size=1)
    with pytest.raises(ArgumentTypeError, match="Executor"):
        SystemTimer("bad", executor=7)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="name"):
        SystemTimer(7)  # type: ignore[arg-type]
    with SystemTimer("good") as timer, pytest.raises(IllegalArgumentError, match="timeout_ms"):
        timer.advance_clock(-1)
    assert "closed" in repr(timer)


def test_the_reaper_survives_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever fails on its own thread, time goes on."""
    errors = [MemoryError("no memory")]
    hand_over = Runners.wait_for_room

    def fail_once(self: Runners, timeout: float | None, closed: Callable[[], bool]) -> int:
        if errors:
            raise errors.pop()
        return hand_over(self, timeout, closed)

    monkeypatch.setattr(Runners, "wait_for_room", fail_once)
    with SystemTimer("survives") as timer:
        timer.add(task := Recorded(1, "a", []))
        assert task.done.wait(PATIENCE)
    assert caplog.text.count("tries again") == 1


def test_advance_clock_does_not_wait_for_a_full_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "HAND_OVER", 1)
    gate = threading.Event()

    class Blocking(TimerTask):
        def run(self) -> None:
            gate.wait(PATIENCE)

    with SystemTimer("full", reaper_enabled=False) as timer:
        timer.add(Blocking(0))
        timer.add(task := Recorded(0, "a", []))
        assert not timer.advance_clock(1)
        assert timer.size() == 1
        gate.set()
        assert timer.advance_clock(60_000)
        assert task.done.wait(PATIENCE)


def test_what_was_taken_out_is_not_lost_when_adders_fill_its_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They do between the reaper's look for room and its handing over."""
    monkeypatch.setattr(runners, "HAND_OVER", 3)
    gate, ran = threading.Event(), []

    class Blocking(TimerTask):
        def run(self) -> None:
            gate.wait(PATIENCE)

    class Crowded(SystemTimer):
        def _take_due(self, limit: int) -> Any:
            due = super()._take_due(limit)
            if due is not None:
                for _ in range(5):
                    self.add(Blocking(0))
            return due

    with Crowded("crowded", reaper_enabled=False) as timer:
        timer.add(task := Recorded(1, "a", ran))
        assert timer.advance_clock(60_000)
        statistics = timer.statistics()
        gate.set()
        assert (statistics.handed_over, statistics.pending) == (4, 2)
        assert task.done.wait(PATIENCE)
        timer.advance_clock(60_000)
    assert ran == ["a"]
