"""Executors that refuse, drop or lose a timer's runners: its tasks run all the same."""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from flinkish.common.errors import RejectedExecutionError
from flinkish.purgatory import SystemTimer, TimerTask
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
