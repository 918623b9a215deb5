"""Delayed operations that coroutines await."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    FutureTimeoutError,
    IllegalStateError,
    RejectedExecutionError,
)
from flinkish.purgatory import DelayedAnswer, DelayedOperationPurgatory, ManualTimer
from tests.waiting import PATIENCE


@pytest.fixture
def timer() -> ManualTimer:
    return ManualTimer()


@pytest.fixture
def home(timer: ManualTimer) -> Iterator[DelayedOperationPurgatory]:
    with DelayedOperationPurgatory("answers", timer=timer, reaper_enabled=False) as purgatory:
        yield purgatory


def watched(
    home: DelayedOperationPurgatory,
    look: Callable[[], Any],
    late: Callable[[], Any] | None = None,
    keys: tuple[Any, ...] = ("a", "b"),
) -> DelayedAnswer[Any]:
    answer: DelayedAnswer[Any] = DelayedAnswer(10, look, late)
    home.try_complete_else_watch(answer, keys)
    return answer


def test_an_answer_that_is_there(home: DelayedOperationPurgatory) -> None:
    async def main() -> None:
        assert await watched(home, lambda: 3) == 3
        assert home.watched() == 0

    asyncio.run(main())


def test_any_thread_completes_it(home: DelayedOperationPurgatory) -> None:
    found: list[int] = []

    async def main() -> None:
        answers = [watched(home, lambda: found[0] if found else None) for _ in range(5)]
        tasks = [asyncio.ensure_future(wait(answer)) for answer in answers]
        await asyncio.sleep(0)
        found.append(7)
        thread = threading.Thread(target=home.check_and_complete, args=("a",))
        thread.start()
        assert await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE) == [7] * 5
        await asyncio.to_thread(thread.join)
        assert home.watched() == home.num_delayed() == 0

    asyncio.run(main())


async def wait(answer: DelayedAnswer[Any]) -> Any:
    return await answer


def test_time(home: DelayedOperationPurgatory, timer: ManualTimer) -> None:
    async def main() -> None:
        plain, late = watched(home, lambda: None), watched(home, lambda: None, lambda: "late")
        none = watched(home, lambda: None, lambda: None)
        wrong = watched(home, lambda: None, lambda: 1 // 0)
        timer.advance_clock(10)
        with pytest.raises(FutureTimeoutError, match="within 10 ms"):
            await plain
        assert await late == "late"
        assert await none is None
        with pytest.raises(ZeroDivisionError):
            await wrong
        assert home.watched() == 0
        assert home.statistics().errors == 0

    asyncio.run(main())


def test_what_look_raises_is_the_answer(home: DelayedOperationPurgatory) -> None:
    async def main() -> None:
        found: list[int] = []
        answer = watched(home, lambda: found[0] // 0 if found else None)
        found.append(1)
        assert home.check_and_complete("a") == 1
        with pytest.raises(ZeroDivisionError):
            await answer

    asyncio.run(main())


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
def test_a_client_that_went_away_is_no_longer_watched(
    home: DelayedOperationPurgatory, timer: ManualTimer, how: str
) -> None:
    looks: list[int] = []

    async def main() -> None:
        answer = watched(home, lambda: looks.append(1), lambda: looks.append(2))
        other = watched(home, lambda: None, lambda: "other")
        before = len(looks)
        task = asyncio.ensure_future(wait(answer))
        await asyncio.sleep(0)
        if how == "cancelled":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(task, 0.001)
        assert answer.is_completed()
        assert home.watched() == 2, "the other's"
        assert home.num_delayed() == 1
        home.check_and_complete("a")
        timer.advance_clock(10)
        assert len(looks) == before, "neither function is called again"
        assert await other == "other"

    asyncio.run(main())


def test_completion_and_cancelling_race(home: DelayedOperationPurgatory) -> None:
    """Either the answer comes or the task is cancelled, and nothing stays watched."""

    async def main() -> None:
        for _ in range(200):
            found: list[int] = []
            answer = watched(home, lambda found=found: found[0] if found else None)  # type: ignore[misc]
            task = asyncio.ensure_future(wait(answer))
            await asyncio.sleep(0)
            found.append(7)
            thread = threading.Thread(target=home.check_and_complete, args=("a",))
            thread.start()
            task.cancel()
            done = await asyncio.gather(task, return_exceptions=True)
            assert done == [7] or isinstance(done[0], asyncio.CancelledError)
            thread.join(PATIENCE)
            assert home.watched() == home.num_delayed() == 0

    asyncio.run(main())
    assert home.statistics().errors == 0


def test_shutdown_answers(timer: ManualTimer) -> None:
    async def main() -> None:
        with DelayedOperationPurgatory("ends", timer=timer, reaper_enabled=False) as home:
            plain, late = watched(home, lambda: None), watched(home, lambda: None, lambda: "late")
        with pytest.raises(FutureTimeoutError, match="shut down"):
            await plain
        assert await late == "late"
        with pytest.raises(RejectedExecutionError):
            watched(home, lambda: None)

    asyncio.run(main())


def test_a_loop_that_has_ended(home: DelayedOperationPurgatory, timer: ManualTimer) -> None:
    """Its operations end with their time, and harm nobody."""

    async def main() -> None:
        watched(home, lambda: None)

    asyncio.run(main())
    timer.advance_clock(10)
    assert home.watched() == 0
    assert home.statistics().errors == 0


def test_wrong_use() -> None:
    with pytest.raises(IllegalStateError, match="made in a coroutine"):
        DelayedAnswer(10, lambda: 1)

    async def main() -> None:
        with pytest.raises(ArgumentTypeError, match="look must be callable"):
            DelayedAnswer(10, 3)  # type: ignore[arg-type]
        with pytest.raises(ArgumentTypeError, match="late must be callable"):
            DelayedAnswer(10, lambda: 1, 3)  # type: ignore[arg-type]

    asyncio.run(main())
