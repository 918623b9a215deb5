"""The schema of a gateway: its methods, numbered, and what travels for each of them."""

from __future__ import annotations

import asyncio
import collections.abc
import concurrent.futures
import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from flinkish._core.rpc.calls import Procedure
from flinkish._core.rpc.future import RpcFuture
from flinkish.common.errors import ArgumentTypeError
from flinkish.rpc.arguments import checked
from flinkish.rpc.wire import Wire, decoder_of, wire_of
from flinkish.rpc.wire_types import runs_user_code, why_not
from flinkish.rpc.wire_unions import plan_of

__all__ = ["ABSENT", "MethodSchema", "RpcTimeout", "Schema", "method_schema"]

ABSENT = 0xFFFF
"""The number of a method that the other side does not have."""

TELL, ASK, BLOCKING = range(3)
_KINDS = ("tell", "ask", "blocking ask")
_FUTURES = (
    concurrent.futures.Future,
    asyncio.Future,
    RpcFuture,
    collections.abc.Awaitable,
)


class RpcTimeout:
    """Marks a parameter as the time limit of its call: ``t: Annotated[int, RpcTimeout]``.

    It takes any duration; the method of the endpoint gets it in ms.  None means the gateway's own.
    """


@dataclass(frozen=True)
class MethodSchema:
    """A method of a gateway.

    ``parameters`` are those that travel, in order, with their types; ``timeout`` is the position of
    the one that is a time limit.  ``result`` is what a future ends with.
    """

    name: str
    gateway: str
    kind: int
    signature: inspect.Signature
    parameters: tuple[tuple[str, Any], ...]
    result: Any
    timeout: int | None
    local: bool

    @property
    def text(self) -> str:
        """The signature that two sides compare."""
        parameters = ", ".join(
            f"{name}: {_text(kind)}{'?' if self._optional(name) else ''}"
            for name, kind in self.parameters
        )
        return f"{self.name}({parameters}) -> {_KINDS[self.kind]} {_text(self.result)}"

    def _optional(self, name: str) -> bool:
        return self.signature.parameters[name].default is not inspect.Parameter.empty

    def compile(self) -> tuple[Wire, Wire]:
        """The wires of arguments and result; ArgumentTypeError names what cannot travel."""
        for name, kind in self.parameters:
            self._check(kind, f"parameter {name!r}")
        self._check(self.result, "the result")
        kinds = tuple(kind for _, kind in self.parameters)
        # tuple[()] is the empty tuple.
        return self._wire(tuple[kinds], "its parameters"), self._wire(self.result, "the result")  # type: ignore[valid-type]

    def _check(self, kind: Any, what: str) -> None:
        reason = why_not(kind)
        if reason is not None:
            raise ArgumentTypeError(f"{what} of {self.gateway}.{self.name} cannot travel: {reason}")
        self._wire(kind, what)

    def _wire(self, kind: Any, what: str) -> Wire:
        try:
            return wire_of(kind)
        except Exception as error:
            raise ArgumentTypeError(
                f"{what} of {self.gateway}.{self.name}, {_text(kind)}, cannot travel: {error}"
            ) from error

    def lenient(self) -> Callable[[Any], tuple[Any, ...]]:
        """Decode arguments of another version: missing ones by default, further ones ignored."""
        fields: list[Any] = []
        present: list[tuple[str, Any, Callable[[Any], Any]]] = []
        for name, kind in self.parameters:
            plan = plan_of(kind, decoder_of)
            default = self.signature.parameters[name].default
            if default is inspect.Parameter.empty:
                fields.append((name, plan.kind))
            else:
                # `Any | X` is an error on Python 3.10.
                kind = Union[plan.kind, msgspec.UnsetType]  # noqa: UP007
                fields.append((name, kind, msgspec.UNSET))
            present.append((name, default, plan.unpack or _same))
        record = msgspec.defstruct(f"{self.name}_arguments", fields, array_like=True)
        decode = decoder_of(record)

        def arguments(payload: Any) -> tuple[Any, ...]:
            decoded = decode(payload)
            return tuple(
                default if (value := getattr(decoded, name)) is msgspec.UNSET else unpack(value)
                for name, default, unpack in present
            )

        return arguments


def _same(value: Any) -> Any:
    return value


def _text(kind: Any) -> str:
    if kind is None or kind is type(None):
        return "None"
    if isinstance(kind, type) and not get_args(kind):
        return kind.__qualname__.rpartition(".")[2]
    return repr(kind)


def method_schema(
    gateway: str, function: Callable[..., Any], names: dict[str, Any]
) -> MethodSchema:
    """Read a method's annotations; NameError if a name in them is not defined yet."""
    name = function.__name__
    where = f"{gateway}.{name}"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ArgumentTypeError(
            f"{where} is `async def`: declare it `def ... -> T` and mark it by @ask; its "
            "future can be awaited, and the endpoint may implement it by `async def`"
        )
    hints = get_type_hints(function, localns=names, include_extras=True)
    signature = inspect.signature(function)
    if "return" not in hints:
        raise ArgumentTypeError(
            f"{where} declares no result: `-> None` is a tell, `-> Future[T]`, or `-> T` with "
            "@ask, an ask, `-> T` a blocking ask"
        )
    parameters: list[tuple[str, Any]] = []
    timeout = None
    for parameter in [*signature.parameters.values()][1:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ArgumentTypeError(
                f"parameter {parameter.name!r} of {where} is {parameter.kind.description}: "
                "arguments travel by position"
            )
        if parameter.name not in hints:
            raise ArgumentTypeError(
                f"parameter {parameter.name!r} of {where} has no type: annotate it"
            )
        kind = hints[parameter.name]
        if get_origin(kind) is Annotated and any(map(_is_timeout, get_args(kind)[1:])):
            if timeout is not None:
                raise ArgumentTypeError(f"{where} has two time limits")
            timeout = len(parameters)
            kind = int
        parameters.append((parameter.name, kind))
    result = hints["return"]
    if result is None or result is type(None):
        call = TELL
    elif result in _FUTURES or get_origin(result) in _FUTURES:
        call = ASK
        result = (get_args(result) or (Any,))[-1]
    else:
        call = BLOCKING
    call = _marked(where, getattr(function, "__rpc_kind__", None), call)
    local = getattr(function, "__rpc_local__", False)
    return MethodSchema(name, gateway, call, signature, tuple(parameters), result, timeout, local)


def _marked(where: str, mark: str | None, declared: int) -> int:
    """The kind of a method that ``ask`` or ``tell`` may have marked."""
    if mark == "ask":
        if declared == ASK:
            raise ArgumentTypeError(
                f"{where} is marked by @ask and declares a future: declare the value of the future"
            )
        return ASK
    if mark == "tell" and declared != TELL:
        raise ArgumentTypeError(
            f"{where} is marked by @tell, which has no answer: declare `-> None`, or mark it by "
            "@ask"
        )
    return declared


def _is_timeout(mark: object) -> bool:
    return mark is RpcTimeout or isinstance(mark, RpcTimeout)


@dataclass(frozen=True, eq=False)
class Schema:
    """The methods of a gateway, by name; a method's number is its place."""

    gateway: str
    methods: tuple[MethodSchema, ...]
    _lenient: dict[str, Procedure] = field(default_factory=dict)

    @cached_property
    def procedures(self) -> dict[str, Procedure]:
        """The encoders and decoders that the floor calls, compiled, by method."""
        return {method.name: self._procedure(method) for method in self.methods}

    def _procedure(self, method: MethodSchema, *, lenient: bool = False) -> Procedure:
        number = self.methods.index(method)
        if method.local:
            return Procedure(
                method.name, self.gateway, number, method.kind, True, None, None, None, None
            )
        arguments, result = method.compile()
        decode = method.lenient() if lenient else arguments.decode
        encode_result = _none_only if method.result in (None, type(None)) else result.encode
        return Procedure(
            method.name,
            self.gateway,
            number,
            method.kind,
            False,
            checked(method.parameters, arguments.encode, arguments.decode),
            decode,
            encode_result,
            result.decode,
            runs_user_code(method.result),
        )

    @cached_property
    def text(self) -> str:
        """All that travels, as text."""
        return "\n".join(method.text for method in self.methods if not method.local)

    @cached_property
    def hash(self) -> str:
        """Equal schemas have equal hashes."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    @property
    def names(self) -> list[str]:
        """Names of the methods, by number."""
        return [method.name for method in self.methods]

    def lenient(self, name: str) -> Procedure:
        """The procedure for a caller whose schema is another one."""
        if name not in self._lenient:
            method = next(method for method in self.methods if method.name == name)
            self._lenient[name] = self._procedure(method, lenient=True)
        return self._lenient[name]


def _none_only(_: object) -> bytes:
    return b"\xc0"  # nil: a `Future[None]` carries nothing, whatever the method returns


def merge(name: str, schemas: Sequence[Schema]) -> Schema:
    """The methods of several gateways."""
    methods = {method.name: method for schema in schemas for method in schema.methods}
    return Schema(name, tuple(methods[key] for key in sorted(methods)))
