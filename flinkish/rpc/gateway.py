"""Gateways: annotated classes whose methods are calls to an endpoint."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from flinkish._core.rpc.calls import Port
from flinkish._core.rpc.future import RpcFuture
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.rpc.schema import ASK, BLOCKING, TELL, MethodSchema, Schema, method_schema

__all__ = [
    "FencedRpcGateway",
    "GatewayProxy",
    "RpcGateway",
    "gateways_of",
    "proxy_of",
    "schema_of",
]

Token = TypeVar("Token")
Proxy = TypeVar("Proxy", bound="RpcGateway")

# What gateways and endpoints have of their own.
_RESERVED = frozenset(
    {
        *("address", "hostname", "fencing_token", "with_timeout", "endpoint_id", "service"),
        *("on_start", "on_stop", "start", "stop", "close_async", "termination_future"),
        *("get_self_gateway", "main_thread_executor", "register_resource", "is_running"),
        *("run_async", "call_async", "schedule_run_async", "validate_runs_in_main_thread"),
    }
)


def _is_gateway(kind: type) -> bool:
    """A description of somebody's own, not an endpoint nor a proxy."""
    return not getattr(kind, "_implements", False) and not vars(kind).get("_is_base", False)


class RpcGateway:
    """The interface of an endpoint: a class of annotated methods without bodies.

    ``-> None`` is a tell: sent and forgotten, without an answer or an error (Flink:
    PekkoInvocationHandler). ``-> T`` marked by ``ask``, or ``-> Future[T]`` without a mark, is an
    ask.  ``-> T`` without a mark is an ask that blocks the caller.

    A type that cannot travel is refused here, when the class is defined; a name that is not
    defined yet is looked up when the gateway is first used.  Arguments go by position.
    """

    __slots__ = ()
    _is_base: ClassVar[bool] = True
    _names: ClassVar[dict[str, Any]] = {}
    _schema: ClassVar[Schema | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if _is_gateway(cls):
            # Types that the surrounding function defines, which get_type_hints does not see.
            cls._names = dict(sys._getframe(1).f_locals)
            cls._schema = None
            try:
                schema_of(cls)
            except NameError:
                return
            cls._names = {}

    @property
    def address(self) -> str:
        """Where the endpoint is."""
        raise GatewayDescriptionError(type(self))

    @property
    def hostname(self) -> str:
        """Host of the endpoint."""
        raise GatewayDescriptionError(type(self))

    def with_timeout(self: Proxy, timeout: DurationLike) -> Proxy:
        """The same gateway, whose asks have this time limit; it takes any duration."""
        raise GatewayDescriptionError(type(self))


class FencedRpcGateway(RpcGateway, Generic[Token]):
    """A gateway of an endpoint with a fencing token: calls with another one are refused."""

    __slots__ = ()
    _is_base: ClassVar[bool] = True

    @property
    def fencing_token(self) -> Token:
        """The token that calls carry."""
        raise GatewayDescriptionError(type(self))


class GatewayDescriptionError(UnsupportedOperationError):
    """A gateway class was instantiated."""

    def __init__(self, kind: type) -> None:
        super().__init__(
            f"{kind.__name__} is only a description: get a gateway from RpcService.connect or "
            "RpcEndpoint.get_self_gateway"
        )


def gateways_of(kind: type) -> list[type[RpcGateway]]:
    """The gateways that an endpoint class implements, most special first."""
    return [base for base in kind.__mro__ if issubclass(base, RpcGateway) and _is_gateway(base)]


def schema_of(gateway: type[RpcGateway]) -> Schema:
    """The compiled schema, made when the class is defined or, at the latest, now."""
    schema: Schema | None = gateway.__dict__.get("_schema")
    if schema is not None:
        return schema
    methods: dict[str, MethodSchema] = {}
    for base in reversed(gateways_of(gateway)):
        for name, value in vars(base).items():
            if name.startswith("_") or not inspect.isfunction(value):
                continue
            if name in _RESERVED:
                raise IllegalArgumentError(
                    f"{base.__name__}.{name} has a name that every gateway or endpoint uses "
                    "itself: choose another one"
                )
            methods[name] = method_schema(base.__name__, value, base._names)
    schema = Schema(gateway.__name__, tuple(methods[name] for name in sorted(methods)))
    assert schema.procedures is not None  # compiled now, so that types are refused now
    gateway._schema = schema
    return schema


# --- proxies


class GatewayProxy:
    """The methods of every object that ``connect`` returns, beside those of its gateway class."""

    _implements = True
    _port: Port

    @property
    def address(self) -> str:
        """Where the endpoint is."""
        return self._port.address

    @property
    def hostname(self) -> str:
        """Host of the endpoint."""
        return self._port.hostname

    @property
    def fencing_token(self) -> Any:
        """The token that calls carry; UnsupportedOperationError without one.

        As in Flink's FencedRpcEndpoint.
        """
        if self._port.token is None:
            raise UnsupportedOperationError(
                f"the gateway to {self.address} was made without a fencing token: use "
                "service.connect(address, Gateway, token)"
            )
        return self._port.token

    def with_timeout(self, timeout: DurationLike) -> Any:
        """The same gateway, whose asks have this time limit."""
        millis = to_millis(timeout, "timeout", minimum=0)
        return _bind(type(self), self._port.with_timeout(millis))

    def run_async(self, function: Callable[[], object]) -> None:
        """Run it in the endpoint's main thread; local gateways only.

        As in Flink's PekkoInvocationHandler.
        """
        self._endpoint("run_async").run_async(function)

    def call_async(self, function: Callable[[], Any], timeout: DurationLike) -> RpcFuture[Any]:
        """Call it in the endpoint's main thread; local gateways only."""
        result: RpcFuture[Any] = self._endpoint("call_async").call_async(function, timeout)
        return result

    def schedule_run_async(self, function: Callable[[], object], delay: DurationLike) -> Any:
        """Run it in the endpoint's main thread later; local gateways only."""
        return self._endpoint("schedule_run_async").schedule_run_async(function, delay)

    def _endpoint(self, what: str) -> Any:
        inbox = getattr(self._port, "inbox", None)
        if inbox is None:
            raise UnsupportedOperationError(
                f"Trying to send a function to a remote endpoint with {what}: {self.address} is in "
                "another process, and code does not travel; call a method of the gateway"
            )
        return inbox.home.endpoint_of(inbox)

    def __repr__(self) -> str:
        token = "" if self._port.token is None else f" with token {self._port.token!r}"
        return f"<{type(self).__name__} to {self.address}{token}>"

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and isinstance(other, GatewayProxy)
            and (other.address, other._port.token) == (self.address, self._port.token)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.address))


def _bind(kind: type, port: Port) -> Any:
    proxy: Any = object.__new__(kind)
    proxy._port = port
    return proxy


_proxies: dict[type, type] = {}


def proxy_of(gateway: type[Proxy], port: Port) -> Proxy:
    """A gateway that sends to ``port``."""
    kind = _proxies.get(gateway)
    if kind is None:
        kind = _proxies.setdefault(gateway, _make_proxy(gateway))
    bound: Proxy = _bind(kind, port)
    return bound


_VERBS = {TELL: "tell", ASK: "ask", BLOCKING: "call"}


def _make_proxy(gateway: type[RpcGateway]) -> type:
    """A subclass with a compiled method for each signature: Python itself binds the arguments."""
    schema = schema_of(gateway)
    names: dict[str, Any] = {"_millis": _call_millis}
    lines: list[str] = []
    for number, method in enumerate(schema.methods):
        names[f"_procedure{number}"] = schema.procedures[method.name]
        declared, passed = [], []
        for position, (name, _) in enumerate(method.parameters):
            default = method.signature.parameters[name].default
            if default is inspect.Parameter.empty:
                declared.append(name)
            else:
                names[f"_default{number}_{position}"] = default
                declared.append(f"{name}=_default{number}_{position}")
            passed.append(name)
        lines.append(f"def {method.name}({', '.join(['self', *declared])}):")
        limit = ""
        if method.timeout is not None:
            limited = passed[method.timeout]
            lines.append(f"    {limited} = _millis(self._port, {limited})")
            limit = f", {limited}"
        arguments = f"({''.join(f'{name}, ' for name in passed)})"
        lines.append(
            f"    return self._port.{_VERBS[method.kind]}(_procedure{number}, {arguments}{limit})"
        )
    exec(compile("\n".join(lines), f"<proxy of {gateway.__qualname__}>", "exec"), names)
    body: dict[str, Any] = {"__slots__": ("_port",), "__module__": gateway.__module__}
    for method in schema.methods:
        made = names[method.name]
        made.__qualname__ = f"{gateway.__qualname__}.{method.name}"
        made.__doc__ = getattr(gateway, method.name).__doc__
        body[method.name] = made
    return type(f"{gateway.__name__}Proxy", (GatewayProxy, gateway), body)


def _call_millis(port: Port, timeout: Any) -> int:
    return port.timeout_ms if timeout is None else to_millis(timeout, "timeout", minimum=0)


def check_implements(kind: type, base: type) -> None:
    """Every method of the endpoint's gateways has a body that takes its arguments.

    ArgumentTypeError if one has not.
    """
    for gateway in gateways_of(kind):
        for method in schema_of(gateway).methods:
            made = getattr(kind, method.name)
            owner = next(c for c in kind.__mro__ if method.name in vars(c))
            if owner in gateways_of(kind):
                raise ArgumentTypeError(
                    f"{kind.__name__} does not implement {gateway.__name__}.{method.name}"
                )
            if inspect.isasyncgenfunction(made):
                raise ArgumentTypeError(
                    f"{kind.__name__}.{method.name} is an asynchronous generator, and a call has "
                    "one answer: collect what it yields and return that"
                )
            _check_takes(kind, method)
    if inspect.iscoroutinefunction(getattr(kind, "on_start", None)):
        raise ArgumentTypeError(
            f"{kind.__name__}.on_start is `async def`, and calls would come before it has ended: "
            "make it `def`, and start coroutines there by self.run_async(function)"
        )


def _check_takes(kind: type, method: MethodSchema) -> None:
    """The endpoint's method takes what callers of the gateway's send: all arguments, by position.

    ArgumentTypeError; without it each call would fail.
    """
    made = inspect.getattr_static(kind, method.name)
    if not inspect.isfunction(made):
        return  # a static method and other callables have rules of their own
    signature = inspect.signature(made)
    try:
        signature.bind(None, *(name for name, _ in method.parameters))
    except TypeError as error:
        raise ArgumentTypeError(
            f"{kind.__name__}.{method.name}{signature} does not take the arguments of "
            f"{method.gateway}.{method.name}{method.signature}, which arrive by position: {error}"
        ) from None
