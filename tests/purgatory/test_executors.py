"""Executors that refuse, drop or lose a timer's runners: its tasks run all the same."""

import inspect
import logging
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from flinkish.common.errors import ArgumentTypeError, RejectedExecutionError
from flinkish.purgatory import SystemTimer, TimerTask, runners
from tests.waiting import PATIENCE, until


class Call(TimerTask):
    __slots__ = ("call",)

    def __init__(self, delay: int, call: Callable[[], object]) -> None:
        super().__init__(delay)
        self.call = call

    def run(self) -> None:
        self.call()


class Refusing(Executor):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise self.error


@pytest.mark.parametrize("error", [ValueError("full"), RejectedExecutionError("closed")])
def test_an_executor_that_refuses(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it raises; and it is said once."""
    ran: list[int] = []
    with SystemTimer("refused", executor=Refusing(error)) as timer:
        for number in range(3):
            timer.add(Call(0, lambda number=number: ran.append(number)))
        timer.add(Call(1, lambda: ran.append(3)))
        until(lambda: len(ran) == 4)
        until(lambda: timer.statistics().handed_over == 0)
    assert ran == [0, 1, 2, 3]
    assert caplog.text.count("its executor takes no tasks") == 1


@pytest.mark.parametrize("reaper", [True, False])
def test_an_executor_that_drops_what_it_has_taken(reaper: bool) -> None:
    """`shutdown(cancel_futures=True)` lost the tasks, and all that came after them."""
    ran: list[str] = []
    busy, go_on = threading.Event(), threading.Event()
    executor = ThreadPoolExecutor(1)

    def block() -> None:
        busy.set()
        assert go_on.wait(PATIENCE)

    with SystemTimer("dropped", executor=executor, reaper_enabled=reaper) as timer:
        executor.submit(block)
        assert busy.wait(PATIENCE)
        timer.add(Call(0, lambda: ran.append("dropped")))
        executor.shutdown(wait=False, cancel_futures=True)
        if not reaper:
            timer.advance_clock()
        until(lambda: ran)
        timer.add(Call(0, lambda: ran.append("later")))
        until(lambda: len(ran) == 2)
        assert timer.statistics().handed_over == 0
        go_on.set()
    assert ran == ["dropped", "later"]


def test_an_executor_that_loses_a_runner() -> None:
    """One whose future fails though the runner never ran, as a pool of processes does."""
    ran: list[int] = []
    lost: list[Future[Any]] = []

    class Losing(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if not lost:
                lost.append(Future())
                return lost[0]
            return super().submit(fn, *args, **kwargs)

    with Losing(1) as executor, SystemTimer("lost", executor=executor) as timer:
        timer.add(Call(0, lambda: ran.append(1)))
        lost[0].set_exception(OSError("the process has died"))
        until(lambda: ran == [1])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_busy_timer_leaves_the_executor_to_others(threads: int) -> None:
    """Its runners stayed for as long as anything was ready: for ever, here."""
    ran: list[str] = []
    stop = threading.Event()
    with (
        ThreadPoolExecutor(threads) as executor,
        SystemTimer("busy", executor=executor) as busy,
        SystemTimer("other", executor=executor) as other,
    ):

        def again() -> None:
            if not stop.is_set():
                busy.add(Call(0, again))

        for _ in range(threads + 1):
            busy.add(Call(0, again))
        executor.submit(ran.append, "job")
        other.add(Call(0, lambda: ran.append("timer")))
        until(lambda: len(ran) == 2)
        stop.set()
        until(lambda: busy.statistics().handed_over == 0)
    assert sorted(ran) == ["job", "timer"]


def test_a_turn_ends_within_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of tasks that are due at once hold nobody up until the last of them has run."""
    monkeypatch.setattr(runners, "TURN_NS", 0)  # a task each
    order: list[str] = []
    go_on = threading.Event()
    with (
        ThreadPoolExecutor(1) as executor,
        SystemTimer("batch", executor=executor, reaper_enabled=False) as timer,
    ):
        executor.submit(go_on.wait, PATIENCE)
        batch = [Call(1, lambda: order.append("task")) for _ in range(3)]
        for task in batch:
            timer.add(task)
        until(lambda: timer.advance_clock(10) and timer.size() == 0)
        executor.submit(order.append, "job")
        go_on.set()
        until(lambda: len(order) == 4)
    assert order == ["task", "job", "task", "task"]


def test_a_pool_of_processes_is_refused() -> None:
    """It cannot pickle a timer's jobs, and its tasks were submitted again and again."""
    told = r"objects of this process.*ThreadPoolExecutor"
    with ProcessPoolExecutor(1) as executor, pytest.raises(ArgumentTypeError, match=told):
        SystemTimer("far", executor=executor)


class Silent(ThreadPoolExecutor):
    """Its submit returns no future; ``how`` says what becomes of the job."""

    how = "lost"

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.how == "at once":
            fn(*args, **kwargs)
        elif self.how == "on its threads":
            super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize("how", ["lost", "at once", "on its threads"])
@pytest.mark.parametrize("reaper", [True, False])
def test_an_executor_that_returns_no_future(
    how: str, reaper: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[int] = []
    with Silent(1) as executor:
        executor.how = how
        with SystemTimer("silent", executor=executor, reaper_enabled=reaper) as timer:
            for number in range(100):
                timer.add(Call(number % 2, lambda number=number: ran.append(number)))
            until(lambda: timer.advance_clock(10) is None or len(ran) == 100)
            until(lambda: timer.statistics().handed_over == 0)
    assert sorted(ran) == [*range(100)]
    said = caplog.text.count("its submit returned None and no future")
    assert said <= 1 if how == "on its threads" else said == (how == "lost")


def test_an_executor_whose_jobs_always_fail(caplog: pytest.LogCaptureFixture) -> None:
    """As one does that pickles them; the reaper runs the tasks, and each is submitted once."""
    submitted: list[Any] = []

    class Failing(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            submitted.append(fn)
            return super().submit(self.fail)

        def fail(self) -> None:
            raise TypeError("cannot pickle '_thread.RLock' object")

    ran: list[int] = []
    with Failing(1) as executor, SystemTimer("failing", executor=executor) as timer:
        for number in range(20):
            timer.add(Call(number % 3, lambda number=number: ran.append(number)))
        until(lambda: len(ran) == 20)
        until(lambda: timer.statistics().handed_over == 0)
    assert sorted(ran) == [*range(20)]
    assert len(submitted) <= 20
    assert caplog.text.count("need a thread of this process") == 1


def test_an_executor_that_runs_jobs_at_once_needs_no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that a job submits runs within it: turns must not lie in each other."""
    monkeypatch.setattr(runners, "TURN_NS", 0)

    class AtOnce(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    depths: list[int] = []
    with SystemTimer("at once", executor=AtOnce(), reaper_enabled=False) as timer:
        for _ in range(20):
            timer.add(Call(1, lambda: depths.append(len(inspect.stack(0)))))
        until(lambda: timer.advance_clock(10) and timer.size() == 0)
    assert len(depths) == 20
    assert max(depths) - min(depths) < 5


def test_a_job_that_comes_late_or_twice_runs_nothing() -> None:
    """R2: an executor may run what it has cancelled, or run it again."""
    jobs: list[Callable[[], object]] = []

    class Keeping(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            jobs.append(lambda: fn(*args, **kwargs))
            return futures[-1]

    ran: list[int] = []
    futures: list[Future[Any]] = [Future()]
    with SystemTimer("twice", executor=Keeping(), reaper_enabled=False) as timer:
        timer.add(Call(0, lambda: ran.append(1)))
        futures[0].cancel()
        futures.append(Future())
        timer.advance_clock()  # sends another
        assert len(jobs) == 2
        for job in (jobs[0], jobs[1], jobs[1], jobs[0]):
            job()
        assert ran == [1]
        timer.add(Call(0, lambda: ran.append(2)))
        assert len(jobs) == 3, "one runner is wanted, not more and not less"
        jobs[2]()
    assert ran == [1, 2]
    assert timer._runners._sent == 0


class Unreliable(ThreadPoolExecutor):
    """Does with a job what an executor may do, and what none may, by chance."""

    def __init__(self, threads: int, dice: random.Random) -> None:
        super().__init__(threads)
        self.dice = dice

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        match self.dice.randrange(9):
            case 0:
                raise RejectedExecutionError("full")
            case 1:
                (dropped := Future[Any]()).cancel()
                return dropped
            case 2:
                (failed := Future[Any]()).set_exception(OSError("lost"))
                return failed
            case 3:
                return None
            case 4:
                (done := Future[Any]()).set_result(fn(*args, **kwargs))
                return done
            case 5:
                super().submit(fn, *args, **kwargs)  # and once more, below
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize("seed", range(8))
def test_every_task_runs_once_whatever_the_executor_does(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two timers share it, four threads add, tasks add tasks, and turns are short (R1 - R4)."""
    monkeypatch.setattr(runners, "TURN_NS", 20_000)
    dice = random.Random(seed)
    each = 150
    ran: list[tuple[int, int]] = []
    with (
        Unreliable(3, dice) as executor,
        SystemTimer("one", executor=executor) as one,
        SystemTimer("two", executor=executor) as two,
    ):

        def add(adder: int) -> None:
            for number in range(each):
                timer = (one, two)[number % 2]
                timer.add(Call(number % 3, partial(run, adder, number, timer)))

        def run(adder: int, number: int, timer: SystemTimer) -> None:
            if number % 5 == 0:
                timer.add(Call(number % 2, lambda: ran.append((adder, -number - 1))))
            ran.append((adder, number))

        adders = [threading.Thread(target=add, args=(adder,)) for adder in range(4)]
        for thread in adders:
            thread.start()
        for thread in adders:
            thread.join(PATIENCE)
        wanted = [(adder, n) for adder in range(4) for n in range(each)]
        wanted += [(adder, -n - 1) for adder in range(4) for n in range(0, each, 5)]
        until(lambda: len(ran) >= len(wanted))
        until(lambda: not one.statistics().handed_over and not two.statistics().handed_over)
        for timer in (one, two):
            until(lambda timer=timer: not timer._runners._sent)
            assert not timer._runners._busy
            assert not timer._runners._waiting
    assert sorted(ran) == sorted(wanted)


def test_a_waiter_is_not_held_up_by_another() -> None:
    """`advance_clock(10)` waited as long as the one that had come before it."""
    with SystemTimer("two", reaper_enabled=False) as timer:
        entered = threading.Event()
        wait = timer._alarm.wait

        def waits(seconds: float | None = None) -> bool:
            entered.set()
            return wait(seconds)

        timer._alarm.wait = waits  # type: ignore[method-assign]
        first = threading.Thread(target=timer.advance_clock, args=("1 hour",))
        first.start()
        assert entered.wait(PATIENCE)
        assert timer.advance_clock(10) is False  # and this returns, in an hour less
        assert first.is_alive()
        timer.close()
        first.join(PATIENCE)
        assert not first.is_alive()


PROGRAM = """
import logging, threading, time
from concurrent.futures import ThreadPoolExecutor
from flinkish.purgatory import SystemTimer, TimerTask

logging.basicConfig()

class Tick(TimerTask):
    def run(self):
        timer.add(Tick(1))

timer = SystemTimer("ends")
timer.add(Tick(1))
{waiting}
"""

WAITING = {
    "thread": "threading.Thread(target=time.sleep, args=(0.2,)).start()",
    "pool": "ThreadPoolExecutor(1).submit(time.sleep, 0.2)",  # and its main thread is still alive
}


@pytest.mark.parametrize("waiting", WAITING)
def test_the_end_of_a_program_is_no_error(waiting: str) -> None:
    """The program waits at its end, and the timer has tasks due meanwhile."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(waiting=WAITING[waiting])],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert ended.stderr == ""


def test_a_refusal_is_said_while_the_program_runs(caplog: pytest.LogCaptureFixture) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    ran: list[int] = []
    with caplog.at_level(logging.ERROR), SystemTimer("told", executor=executor) as timer:
        timer.add(Call(0, lambda: ran.append(1)))
        timer.add(Call(0, lambda: ran.append(2)))
    assert ran == [1, 2]
    assert caplog.text.count("its executor takes no tasks") == 1
