"""The decorators of gateway methods, and the types that type checkers see.

A method is declared once, with the result that its endpoint computes.  Callers and the endpoint
see it with different types: ``Ask`` and ``Tell`` are descriptors, whose ``__get__`` tells a gateway
from an endpoint.  mypy compares an endpoint's method with the
type that an endpoint sees.  Pyright asks whether the method, a function, is an ``Ask``: so ``Ask``
and ``Tell`` are protocols, and ``__call__`` says which functions they are.  At run time there are
no such objects: the decorators return the function itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from flinkish._core.rpc.future import RpcFuture

if TYPE_CHECKING:
    from flinkish.rpc.endpoint import RpcEndpoint
    from flinkish.rpc.gateway import RpcGateway

__all__ = ["Ask", "Tell", "ask", "local", "tell"]

P = ParamSpec("P")
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


class Ask(Protocol[P, T]):
    """The type of a method that ``ask`` marks."""

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, instance: RpcEndpoint, owner: type | None = None, /
        ) -> Callable[P, T | Awaitable[T] | Future[T]]: ...
        @overload
        def __get__(
            self, instance: RpcGateway, owner: type | None = None, /
        ) -> Callable[P, RpcFuture[T]]: ...
        @overload
        def __get__(self, instance: None, owner: type, /) -> Callable[..., Any]: ...
        def __get__(self, instance: Any, owner: type | None = None, /) -> Any: ...
        def __call__(  # noqa: D102 - for type checkers only
            self, endpoint: Any, /, *args: P.args, **kwargs: P.kwargs
        ) -> T | Awaitable[T] | Future[T]: ...


class Tell(Protocol[P]):
    """The type of a method that ``tell`` marks."""

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, instance: RpcEndpoint, owner: type | None = None, /
        ) -> Callable[P, Awaitable[None] | None]: ...
        @overload
        def __get__(
            self, instance: RpcGateway, owner: type | None = None, /
        ) -> Callable[P, None]: ...
        @overload
        def __get__(self, instance: None, owner: type, /) -> Callable[..., Any]: ...
        def __get__(self, instance: Any, owner: type | None = None, /) -> Any: ...
        def __call__(  # noqa: D102 - for type checkers only
            self, endpoint: Any, /, *args: P.args, **kwargs: P.kwargs
        ) -> Awaitable[None] | None: ...


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
