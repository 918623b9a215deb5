"""Threads that race: beginning at once, over and over, and switched all the time."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tests.processes import LONGEST_S
from tests.waiting import PATIENCE

T = TypeVar("T")


def together(*works: Callable[[], T]) -> list[T]:
    """Do each on a thread of its own, all from the same moment on; what they returned."""
    start = threading.Barrier(len(works))
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def run(at: int, work: Callable[[], T]) -> None:
        start.wait(PATIENCE)
        try:
            results[at] = work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=one) for one in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST_S)
    assert not any(thread.is_alive() for thread in threads), "a thread is stuck"
    if errors:
        raise errors[0]
    return [results[at] for at in range(len(works))]


@contextmanager
def meanwhile(work: Callable[[], object], threads: int = 2) -> Iterator[None]:
    """Do it over and over on some threads for as long as the block takes."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            work()

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in running:
            thread.join()


@contextmanager
def switched_every(seconds: float) -> Iterator[None]:
    """Have Python switch threads that often: it is 5 ms otherwise."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
