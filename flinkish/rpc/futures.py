"""Futures of calls: light, and at home in asyncio."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from flinkish._core.rpc.future import Prompt, RpcFuture

if TYPE_CHECKING:
    import asyncio

__all__ = ["RpcFuture", "awaiting", "completed", "end", "failed", "uncancellable"]


def awaiting(future: RpcFuture[Any]) -> Generator[Any, None, Any]:
    """Wait in ``await future``: the loop is told when the future has ended."""
    if not future.done():
        import asyncio

        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def wake(_: object) -> None:
            if not ended.done():
                ended.set_result(None)

        def tell(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(wake, None)

        future.add_done_callback(Prompt(tell))
        try:
            yield from ended
        except asyncio.CancelledError:
            future.cancel()
            raise
    if future.cancelled():
        import asyncio

        raise asyncio.CancelledError
    return future.result()


def end(future: RpcFuture[Any], value: Any = None, error: BaseException | None = None) -> bool:
    """End a future that its user may have cancelled; whether this did it."""
    try:
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
    except InvalidStateError:
        return False
    return True


def uncancellable() -> RpcFuture[Any]:
    """A future for several users: none of them can cancel it for the others."""
    future: RpcFuture[Any] = RpcFuture()
    future.set_running_or_notify_cancel()
    return future


def completed(value: Any) -> RpcFuture[Any]:
    """A future that has ended with this value."""
    future: RpcFuture[Any] = RpcFuture()
    future.set_result(value)
    return future


def failed(error: BaseException) -> RpcFuture[Any]:
    """A future that has ended with this error."""
    future: RpcFuture[Any] = RpcFuture()
    future.set_exception(error)
    return future
