"""The asyncio face of the wheel: asyncio's own behaviour, on a real loop."""

import asyncio
import contextvars
import gc
import math
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from flinkish.common.errors import IllegalStateError
from flinkish.time import WheelTimer
from tests.waiting import PATIENCE

DAY = 86_400.0
Body = Callable[[WheelTimer], Coroutine[Any, Any, None]]


def run(body: Body) -> None:
    async def main() -> None:
        await body(WheelTimer())

    asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not happen"
        await asyncio.sleep(0.001)


def test_calls_come_in_the_order_of_time_and_never_early() -> None:
    async def body(timer: WheelTimer) -> None:
        loop = asyncio.get_running_loop()
        seen: list[tuple[str, float]] = []
        start = loop.time()
        for name, delay in (("c", 0.03), ("a", 0.01), ("b", 0.02), ("b2", 0.02), ("now", -1.0)):
            timer.call_at(start + delay, lambda name=name: seen.append((name, loop.time())))
        await until(lambda: len(seen) == 5)
        assert [name for name, _ in seen] == ["now", "a", "b", "b2", "c"]
        for (_, at), delay in zip(seen[1:], (0.01, 0.02, 0.02, 0.03), strict=True):
            assert at >= start + delay

    run(body)


def test_arguments_context_and_handles() -> None:
    async def body(timer: WheelTimer) -> None:
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="-")
        seen: list[object] = []

        def note(*values: object) -> None:
            seen.append((*values, variable.get()))

        own = contextvars.copy_context()
        variable.set("caller's")
        handle = timer.call_later(0.0, note, 1, 2)
        variable.set("later")
        timer.call_later(0.0, note, context=own)
        assert not handle.cancelled()
        assert handle.when() <= asyncio.get_running_loop().time() + 1
        await until(lambda: len(seen) == 2)
        assert seen == [(1, 2, "caller's"), ("-",)]

    run(body)


def test_a_cancelled_call_is_gone_at_once() -> None:
    async def body(timer: WheelTimer) -> None:
        class Payload:
            pass

        payload = Payload()
        gone = weakref.ref(payload)
        handle = timer.call_later(DAY, print, payload)
        del payload
        assert len(timer) == 1
        handle.cancel()
        handle.cancel()
        assert handle.cancelled()
        assert len(timer) == 0
        assert gone() is None
        await asyncio.sleep(0)
        assert timer.statistics().cancelled == 1

    run(body)


def test_one_timer_of_the_loop_and_no_tombstones() -> None:
    async def body(timer: WheelTimer) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(20):
            handles = [timer.call_later(DAY - i, print) for i in range(500)]
            await asyncio.sleep(0)
            for handle in handles[1:]:
                handle.cancel()
        assert len(timer) == 20
        await asyncio.sleep(0)
        assert len(loop._scheduled) <= 2  # type: ignore[attr-defined]

    run(body)


def test_a_call_may_cancel_another_that_is_due_with_it() -> None:
    async def body(timer: WheelTimer) -> None:
        seen: list[str] = []
        timer.call_later(0.0, lambda: second.cancel())
        second = timer.call_later(0.0, seen.append, "second")
        timer.call_later(0.0, seen.append, "third")
        await until(lambda: bool(seen))
        assert seen == ["third"]
        counts = timer.statistics()
        assert (counts.scheduled, counts.fired, counts.cancelled) == (3, 2, 1)

    run(body)


def test_a_call_may_add_calls_and_a_great_many_leave_room_for_others() -> None:
    async def body(timer: WheelTimer) -> None:
        ran = [0]
        passes = [0]
        chain = [0]

        def again() -> None:
            chain[0] += 1
            if chain[0] < 100:
                timer.call_later(0.0, again)

        def count() -> None:
            ran[0] += 1

        async def other() -> None:
            while ran[0] < 10_000:
                passes[0] += 1
                await asyncio.sleep(0)

        for _ in range(10_000):
            timer.call_later(0.0, count)
        timer.call_later(0.0, again)
        await other()
        assert passes[0] >= 5, "a pass has a bounded number of calls"
        await until(lambda: ran[0] == 10_000 and chain[0] == 100)
        assert len(timer) == 0

    run(body)


def test_errors_go_to_the_loop_and_the_timers_go_on() -> None:
    async def body(timer: WheelTimer) -> None:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        seen: list[int] = []
        timer.call_later(0.0, lambda: 1 / 0)
        timer.call_later(0.0, seen.append, 1)
        await until(lambda: bool(seen))
        (report,) = reports
        assert isinstance(report["exception"], ZeroDivisionError)

    run(body)


def test_what_ends_the_program_loses_no_timer() -> None:
    loop = asyncio.new_event_loop()
    timer = WheelTimer(loop)
    seen: list[int] = []

    def leave() -> None:
        raise SystemExit(3)

    timer.call_later(0.0, leave)
    timer.call_later(0.0, seen.append, 1)
    try:
        with pytest.raises(SystemExit):
            loop.run_forever()
        loop.run_until_complete(until(lambda: bool(seen)))
    finally:
        loop.close()


def test_bad_input() -> None:
    async def body(timer: WheelTimer) -> None:
        with pytest.raises(ValueError, match="NaN"):
            timer.call_later(math.nan, print)
        with pytest.raises(TypeError, match="callable, not 3"):
            timer.call_later(1, 3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"contextvars\.Context, not 3"):
            timer.call_at(1, print, context=3)  # type: ignore[arg-type]
        for never in (math.inf, 1e300, 2.0**70):
            timer.call_later(never, print)
        timer.call_later(-math.inf, print, end="")  # type: ignore[call-arg]

    with pytest.raises(TypeError, match="end"):
        run(body)
    with pytest.raises(RuntimeError):
        WheelTimer()


# --- timeout


def test_timeout_ends_the_block_and_only_that() -> None:
    async def body(timer: WheelTimer) -> None:
        with pytest.raises(TimeoutError) as raised:
            async with timer.timeout(0.01) as scope:
                await asyncio.sleep(DAY)
        assert isinstance(raised.value.__cause__, asyncio.CancelledError)
        assert scope.expired()
        task = asyncio.current_task()
        assert task is not None
        assert not hasattr(task, "cancelling") or task.cancelling() == 0
        async with timer.timeout(DAY) as scope:
            await asyncio.sleep(0)
        assert not scope.expired()
        assert len(timer) == 0
        async with timer.timeout(None) as scope:
            assert scope.when() is None

    run(body)


def test_an_error_of_the_block_passes() -> None:
    async def body(timer: WheelTimer) -> None:
        with pytest.raises(KeyError):
            async with timer.timeout(DAY):
                raise KeyError

        async def turn_it_into_another() -> None:
            async with timer.timeout(0.001):
                try:
                    await asyncio.sleep(DAY)
                except asyncio.CancelledError:
                    raise KeyError from None

        with pytest.raises(KeyError):
            await turn_it_into_another()
        assert len(timer) == 0

    run(body)


def test_timeouts_nest() -> None:
    async def body(timer: WheelTimer) -> None:
        with pytest.raises(TimeoutError):
            async with timer.timeout(0.01) as outer, timer.timeout(DAY) as inner:
                await asyncio.sleep(DAY)
        assert outer.expired()
        assert not inner.expired()
        async with timer.timeout(DAY) as outer:
            with pytest.raises(TimeoutError):
                async with timer.timeout(0.01) as inner:
                    await asyncio.sleep(DAY)
        assert inner.expired()
        assert not outer.expired()

    run(body)


def test_a_cancellation_from_outside_goes_on() -> None:
    """Counted: ours is taken back, the other stays."""

    async def body(timer: WheelTimer) -> None:
        async def work(both: bool) -> None:
            async with timer.timeout(0.005 if both else DAY):
                try:
                    await asyncio.sleep(DAY)
                finally:
                    if both:
                        asyncio.current_task().cancel()  # type: ignore[union-attr]

        task = asyncio.create_task(work(False))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # Python 3.10 counts no cancellations, so there the two cannot be told apart.
        counts = hasattr(asyncio.Task, "uncancel")
        with pytest.raises(asyncio.CancelledError if counts else TimeoutError):
            await asyncio.create_task(work(True))
        assert len(timer) == 0

    run(body)


def test_reschedule() -> None:
    async def body(timer: WheelTimer) -> None:
        loop = asyncio.get_running_loop()
        scope = timer.timeout_at(loop.time() + DAY)
        with pytest.raises(IllegalStateError, match="created cannot be moved"):
            scope.reschedule(None)

        async def move_it() -> None:
            async with scope:
                scope.reschedule(None)
                assert len(timer) == 0
                scope.reschedule(loop.time() + 0.01)
                assert len(timer) == 1
                await asyncio.sleep(DAY)

        with pytest.raises(TimeoutError):
            await move_it()
        with pytest.raises(IllegalStateError, match="expired cannot be moved"):
            scope.reschedule(None)
        with pytest.raises(IllegalStateError, match="one block"):
            await scope.__aenter__()
        with pytest.raises(TimeoutError):
            async with timer.timeout(-1):
                await asyncio.sleep(DAY)

    run(body)


def test_timer_and_loop_are_collected() -> None:
    seen: list[weakref.ref[WheelTimer]] = []

    async def body(timer: WheelTimer) -> None:
        seen.append(weakref.ref(timer))
        timer.call_later(DAY, timer.statistics)
        await asyncio.sleep(0)

    run(body)
    gc.collect()
    assert seen[0]() is None
