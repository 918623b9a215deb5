"""The layers around each call: limits, ledgers.

A layer sees every attempt of every row.  It may make it wait, give an answer of its own instead,
or keep what it gave.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from flinkish.common.errors import ArgumentTypeError
from flinkish.functions import RuntimeContext
from flinkish.operators.async_invokers import CallbackInvoker, Invoker, ThreadInvoker

__all__ = ["CallLayer", "add_layers"]


class CallLayer(Protocol):
    """Lies around the calls of one task.

    Threading: ``call`` on the event loop, ``call_blocking`` on any thread but that; the others on
    the task's thread.
    """

    def open(self, context: RuntimeContext, on_free: Callable[[], object]) -> None:
        """Get ready.  ``on_free()`` is for any thread: fewer calls wait than before."""
        ...

    def num_waiting(self) -> int:
        """How many calls wait to be started.

        The timeouts of their rows run, so while too many wait no more rows are taken in.
        """
        ...

    def num_saved(self) -> int:
        """How many calls this task did not have to make so far."""
        ...

    async def call(self, function: Callable[[Any], Awaitable[Any]], row: Any) -> Any:
        """The result of ``await function(row)``."""
        ...

    def call_blocking(self, function: Callable[[Any], Any], row: Any) -> Any:
        """The result of ``function(row)``."""
        ...

    def close(self) -> None:
        """Give everything back, after a failure too, even one of ``open``."""
        ...


def add_layers(invoker: Invoker, layers: Sequence[CallLayer]) -> None:
    """Have an invoker call its function through layers, the first of them outermost."""
    if layers and isinstance(invoker, CallbackInvoker):
        raise ArgumentTypeError(
            f"{invoker.name} answers by callback, and nobody sees when such a call begins: with "
            "rates, concurrency limits and ledgers use an AsyncFunction or an `async def`"
        )
    for layer in reversed(layers):
        inner = invoker.method
        if isinstance(invoker, ThreadInvoker):
            invoker.method = _blocking(layer, inner)
        else:
            invoker.method = _awaiting(layer, inner)


def _blocking(layer: CallLayer, inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda row: layer.call_blocking(inner, row)


def _awaiting(
    layer: CallLayer, inner: Callable[[Any], Awaitable[Any]]
) -> Callable[[Any], Awaitable[Any]]:
    return lambda row: layer.call(inner, row)
