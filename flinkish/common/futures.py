"""Completing futures that other code holds.

A caller may cancel any future that it was given: ``asyncio.wait_for`` does when its time is over.
After that ``set_result`` and ``set_exception`` raise InvalidStateError, in the thread that wanted
to answer.  So no future that is handed out is completed without looking:

- one that belongs to one caller is completed by ``complete`` or ``fail``;
- one that several callers wait for comes from ``shared_future``, and none of them can cancel it.
"""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar

__all__ = ["complete", "fail", "shared_future"]

T = TypeVar("T")


def complete(future: Future[T], result: T) -> bool:
    """Give a future its result; False, and nothing happens, if it was cancelled or is done."""
    try:
        future.set_result(result)
    except InvalidStateError:
        _tell_waiters(future)
        return False
    return True


def fail(future: Future[Any], error: BaseException) -> bool:
    """Give a future its error; False, and nothing happens, if it was cancelled or is done."""
    try:
        future.set_exception(error)
    except InvalidStateError:
        _tell_waiters(future)
        return False
    return True


def shared_future() -> Future[Any]:
    """A future that its holders can wait for and cannot cancel: ``cancel()`` returns False.

    If one holder could, it would wake the others for nothing, and they would find it done for
    ever after.  A holder may stop waiting all the same: by a time limit, or by cancelling what
    ``asyncio.wrap_future`` made of it.
    """
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


def _tell_waiters(future: Future[Any]) -> None:
    """Let ``concurrent.futures.wait`` and ``as_completed`` see a cancellation.

    ``cancel`` leaves that to the thread that would have answered.  The state is read under the
    future's own lock, for two threads may come here and only one may tell.
    """
    with future._condition:
        if future._state == "CANCELLED":
            future.set_running_or_notify_cancel()
