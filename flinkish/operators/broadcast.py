"""Broadcast state, and the operator of a keyed stream and one that all keys share.

Every key group holds a copy of the broadcast state, in a row of its own (its number within the
namespace ``broadcast-state``), so that it is kept, restored and moved with the key group's keys.
All copies are alike, since every broadcast element writes to all of them; reading one is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from flinkish._core.keyed_process import KeyedContext, KeyedProcess, KeyedTimerService
from flinkish._core.keyed_state import MapCell
from flinkish._core.row_visits import at_row, visit_keys
from flinkish._core.state_table import StateTable
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.functions.broadcast import KeyedBroadcastProcessFunction
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.operators.base import OperatorEnvironment, Output
from flinkish.operators.two_input import KeyedTwoInputOperator, check_function
from flinkish.state.api import BroadcastState, ReadOnlyBroadcastState
from flinkish.state.backend import KeyedStateBackend
from flinkish.state.descriptors import MapStateDescriptor, StateDescriptor
from flinkish.time.domain import TimeDomain
from flinkish.time.namespaces import VOID_NAMESPACE
from flinkish.time.timer_service import TimerService

__all__ = ["CoBroadcastWithKeyedOperator", "KeyedBroadcast", "check_descriptors"]

_NAMESPACE = "broadcast-state"
_METHODS = ("process_element", "process_broadcast_element", "on_timer", "open", "close")


class _Copies:
    """The copies of one broadcast state in the key groups of a table."""

    def __init__(self, table: StateTable, cell: MapCell) -> None:
        self._table, self._cell = table, cell
        self.groups: Sequence[int] = ()

    def read(self, method: str, *args: Any) -> Any:
        call = getattr(self._cell, method)
        return at_row(self._table, self.groups[0], self.groups[0], _NAMESPACE, call, *args)

    def write(self, method: str, *args: Any) -> None:
        call = getattr(self._cell, method)
        for group in self.groups:
            at_row(self._table, group, group, _NAMESPACE, call, *args)


class _Readable(ReadOnlyBroadcastState[Any, Any]):
    """What keyed elements and timers get."""

    def __init__(self, copies: _Copies) -> None:
        self._copies = copies

    def get(self, key: Any) -> Any:
        return self._copies.read("get", key)

    def contains(self, key: Any) -> bool:
        found: bool = self._copies.read("contains", key)
        return found

    def items(self) -> Iterable[tuple[Any, Any]]:
        pairs: Iterable[tuple[Any, Any]] = self._copies.read("items")
        return pairs

    def keys(self) -> Iterable[Any]:
        keys: Iterable[Any] = self._copies.read("keys")
        return keys

    def values(self) -> Iterable[Any]:
        values: Iterable[Any] = self._copies.read("values")
        return values

    def is_empty(self) -> bool:
        empty: bool = self._copies.read("is_empty")
        return empty

    def clear(self) -> None:
        raise UnsupportedOperationError(
            "broadcast state can only be changed in process_broadcast_element, where every key "
            "group sees the same change"
        )


class _Writable(_Readable, BroadcastState[Any, Any]):
    """What broadcast elements get."""

    def put(self, key: Any, value: Any) -> None:
        self._copies.write("put", key, value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        self._copies.write("put_all", dict_value)

    def remove(self, key: Any) -> None:
        self._copies.write("remove", key)

    def clear(self) -> None:
        self._copies.write("clear")


class _Clocks:
    """What all contexts have; ``inner`` is the loop's context of the call."""

    def __init__(self, owner: KeyedBroadcast) -> None:
        self._owner = owner
        self.inner: Any = None

    def timestamp(self) -> int | None:
        time: int | None = self.inner.timestamp()
        return time

    def current_processing_time(self) -> int:
        now: int = self.inner.timer_service().current_processing_time()
        return now

    def current_watermark(self) -> int:
        watermark: int = self.inner.timer_service().current_watermark()
        return watermark


class _Context(_Clocks, KeyedBroadcastProcessFunction.Context):
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return _Writable(self._owner.copies_of(state_descriptor))

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], object]
    ) -> None:
        self._owner.apply(state_descriptor, function)


class _OnTimerContext(_Clocks, KeyedBroadcastProcessFunction.OnTimerContext):
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> ReadOnlyBroadcastState[Any, Any]:
        return _Readable(self._owner.copies_of(state_descriptor))

    def timer_service(self) -> TimerService:
        timers: TimerService = self.inner.timer_service()
        return timers

    def get_current_key(self) -> Any:
        return self.inner.get_current_key()

    def time_domain(self) -> TimeDomain:
        domain: TimeDomain = self.inner.time_domain()
        return domain


class KeyedBroadcast:
    """A KeyedBroadcastProcessFunction as a function of two inputs, the second of them broadcast.

    `bind` before `open`; ``groups`` are the key groups that the table holds from then on.
    """

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        check_function(
            function, KeyedBroadcastProcessFunction, _METHODS, "a keyed and a broadcast stream"
        )
        self.function = function
        self._descriptors = {one.get_name(): one for one in check_descriptors(descriptors)}

    def bind(self, backend: KeyedStateBackend, groups: Sequence[int]) -> None:
        """Say where state is kept."""
        self._backend = backend
        self._write = _Context(self)
        self._read = _OnTimerContext(self)
        self._copies = {
            name: _Copies(backend.table, backend.state(_kept(one)))
            for name, one in self._descriptors.items()
        }
        self.move(groups)

    def move(self, groups: Sequence[int]) -> None:
        """Say which key groups the table holds now."""
        for copies in self._copies.values():
            copies.groups = groups
        self._first = groups[0]

    def use_broadcast_row(self) -> None:
        """Make a row current in whose name broadcast elements are handed over."""
        self._backend.table.set_current_key(self._first, self._first, _NAMESPACE)

    def copies_of(self, descriptor: MapStateDescriptor) -> _Copies:
        """The copies of a state; IllegalArgumentError for one that was not declared."""
        if self._descriptors.get(descriptor.get_name()) != descriptor:
            raise IllegalArgumentError(
                f"there is no broadcast state {descriptor!r}; broadcast was called with "
                + ", ".join(map(repr, self._descriptors.values()))
            )
        return self._copies[descriptor.get_name()]

    def apply(self, descriptor: StateDescriptor, function: Callable[[Any, Any], object]) -> None:
        """Call ``function(key, state)`` for each key that has something in the state."""
        state = self._backend.state(descriptor)
        visit_keys(
            self._backend.table, self._backend.cell_of(descriptor), lambda key: function(key, state)
        )

    # --- as the loop calls it

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        self.function.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        self.function.close()

    def process_element1(self, value: Any, ctx: KeyedContext) -> Any:
        """A keyed element."""
        self._read.inner = ctx
        return self.function.process_element(value, self._read)

    def process_element2(self, value: Any, ctx: KeyedContext) -> Any:
        """A broadcast element; no key is current for the function."""
        self._backend.table.clear_current_key()
        self._write.inner = ctx
        return self.function.process_broadcast_element(value, self._write)

    def on_timer(self, timestamp: int, ctx: KeyedContext) -> Any:
        """A timer of a key."""
        self._read.inner = ctx
        return self.function.on_timer(timestamp, self._read)


def check_descriptors(descriptors: Sequence[Any]) -> Sequence[MapStateDescriptor]:
    """Refuse what cannot be broadcast state."""
    for one in descriptors:
        if not isinstance(one, MapStateDescriptor):
            raise ArgumentTypeError(f"broadcast state needs a MapStateDescriptor, not {one!r}")
        if one.ttl_config is not None:
            raise UnsupportedOperationError(f"broadcast state has no time to live: {one!r}")
    names = [one.get_name() for one in descriptors]
    if not names or len(set(names)) < len(names):
        raise IllegalArgumentError(
            f"broadcast needs at least one MapStateDescriptor, each of another name; it got {names}"
        )
    return descriptors


def _kept(descriptor: MapStateDescriptor) -> MapStateDescriptor:
    """The descriptor of a copy; a keyed state may have the same name."""
    return MapStateDescriptor(
        f"{_NAMESPACE}:{descriptor.get_name()}",
        descriptor.key_type_info,
        descriptor.value_type_info,
    )


class CoBroadcastWithKeyedOperator(KeyedTwoInputOperator):
    """Runs a KeyedBroadcastProcessFunction: the first input has keys, the second is broadcast.

    In Flink's order: broadcast elements take effect as they come, for all keys.
    """

    def __init__(
        self,
        function: KeyedBroadcastProcessFunction,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        super().__init__()
        self.function = function
        self._broadcast = KeyedBroadcast(function, broadcast_state_descriptors)

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """As declared; broadcast elements need no key selector."""
        if environment is not None and environment.key_selector2 is None:
            environment.key_selector2 = _no_key
        super().setup(output, environment)

    def _functions(self) -> Sequence[Any]:
        return [self.function]

    def _services(self) -> dict[str, str]:
        return {"user-timers": VOID_NAMESPACE.name}

    def _make_engine(self, timers: KeyedTimerService) -> KeyedProcess:
        self._broadcast.bind(
            self.backend, range(self.key_groups.start_key_group, self.key_groups.end_key_group + 1)
        )
        return KeyedProcess(
            self.table,
            timers,
            self._broadcast.process_element1,
            self._broadcast.on_timer,
            OutputTag,
            TimeDomain.EVENT_TIME,
            TimeDomain.PROCESSING_TIME,
            self._broadcast.process_element2,
        )

    def _method_of(self, number: int) -> str:
        return "process_element" if number == 1 else "process_broadcast_element"

    def use_key_of(self, value: Any) -> None:
        """The key of a keyed element; broadcast elements have none."""
        if self.engine.input == 1:
            super().use_key_of(value)
        else:
            self._broadcast.use_broadcast_row()


def _no_key(value: Any) -> NoReturn:
    raise UnsupportedOperationError(f"the broadcast element {value!r} has no key")
