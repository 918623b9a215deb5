"""Marks of gateway methods, and what type checkers see of a method that has one.

A method is declared once, by what its endpoint computes.  Its callers and its endpoint see two
types of it, which depend on the object that it is taken from: ``Ask`` and ``Tell`` are descriptors
whose ``__get__`` tells a gateway from an endpoint.  A type checker compares an endpoint's method
with the type that an endpoint sees.  At run time there are no such objects: the marks return the
function itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from flinkish._core.rpc.future import RpcFuture

if TYPE_CHECKING:
    from flinkish.rpc.endpoint import RpcEndpoint
    from flinkish.rpc.gateway import RpcGateway

__all__ = ["Ask", "Tell", "ask", "local", "tell"]

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)
Method = TypeVar("Method", bound=Callable[..., Any])


class Ask(Generic[P, R]):
    """The type of a method that ``ask`` marks."""

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, instance: RpcEndpoint, owner: object = None
        ) -> Callable[P, R | Awaitable[R] | Future[R]]: ...
        @overload
        def __get__(
            self, instance: RpcGateway, owner: object = None
        ) -> Callable[P, RpcFuture[R]]: ...
        @overload
        def __get__(self, instance: None, owner: object = None) -> Callable[..., Any]: ...
        def __get__(self, instance: Any, owner: object = None) -> Any: ...


class Tell(Generic[P]):
    """The type of a method that ``tell`` marks."""

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, instance: RpcEndpoint, owner: object = None
        ) -> Callable[P, Awaitable[None] | None]: ...
        @overload
        def __get__(self, instance: RpcGateway, owner: object = None) -> Callable[P, None]: ...
        @overload
        def __get__(self, instance: None, owner: object = None) -> Callable[..., Any]: ...
        def __get__(self, instance: Any, owner: object = None) -> Any: ...


def ask(method: Callable[Concatenate[Any, P], T]) -> Ask[P, T]:
    """A gateway method whose callers get an RpcFuture of the declared result.

    ``@ask`` and then ``def highest(self, sensor: str) -> float: ...`` declare the same call as
    ``def highest(self, sensor: str) -> Future[float]: ...`` without a mark.  The endpoint's
    method returns a ``float``, a future or other awaitable of one, or is ``async def``, and type
    checkers agree.  With ``-> None`` the future ends when the endpoint's method has run.

    Raises ArgumentTypeError when the class is defined if the declared result is a future itself.
    """
    method.__rpc_kind__ = "ask"  # type: ignore[attr-defined]
    return cast("Ask[P, T]", method)


def tell(method: Callable[Concatenate[Any, P], None]) -> Tell[P]:
    """A gateway method that is sent and forgotten; its endpoint's may be ``async def``.

    A method ``-> None`` without a mark is the same call, but type checkers then refuse an endpoint
    that implements it by ``async def``.  ArgumentTypeError, when the class is defined, if the
    declared result is not None.
    """
    method.__rpc_kind__ = "tell"  # type: ignore[attr-defined]
    return cast("Tell[P]", method)


def local(method: Method) -> Method:
    """A gateway method for callers of the same process only: it takes anything (Flink: @Local)."""
    method.__rpc_local__ = True  # type: ignore[attr-defined]
    return method
