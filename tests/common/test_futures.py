"""Futures that their holders may cancel at any moment."""

import asyncio
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait

import pytest

from flinkish.common.futures import complete, fail, shared_future
from tests.racing import together
from tests.waiting import PATIENCE


def test_a_pending_future_is_completed() -> None:
    future: Future[int] = Future()
    assert complete(future, 1)
    assert future.result(0) == 1
    failed: Future[int] = Future()
    assert fail(failed, ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.result(0)


def test_one_that_is_done_stays_as_it_is() -> None:
    future: Future[int] = Future()
    future.set_result(1)
    assert not complete(future, 2)
    assert not fail(future, ValueError())
    assert future.result(0) == 1


@pytest.mark.parametrize("answer", [lambda one: complete(one, 1), lambda one: fail(one, OSError())])
def test_a_cancelled_one_stays_cancelled_and_waiters_hear_of_it(answer: object) -> None:
    assert callable(answer)
    future: Future[int] = Future()
    future.cancel()
    assert not answer(future)
    assert not answer(future)  # which is not told twice: that would be an error of Future's
    with pytest.raises(CancelledError):
        future.result(0)
    assert wait([future], PATIENCE, FIRST_COMPLETED).done == {future}


def test_completing_races_with_cancelling() -> None:
    for _ in range(300):
        future: Future[int] = Future()
        taken, cancelled = together(lambda one=future: complete(one, 1), future.cancel)
        assert taken is not cancelled
        assert wait([future], PATIENCE).done == {future}


def test_no_holder_cancels_a_shared_future() -> None:
    future = shared_future()
    assert not future.cancel()

    async def give_up() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(future), 0.001)

    asyncio.run(give_up())
    assert not future.done()
    assert complete(future, None)
    assert future.result(0) is None
