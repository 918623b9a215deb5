"""The definition of an operator of a stream, keyed or not, and one that all its elements share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flinkish._core.operators.keyed_process import KeyedContext, KeyedProcess
from flinkish._core.state.key_rows import visit_keys
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.methods import require_methods
from flinkish.common.type_variables import K, V
from flinkish.functions.broadcast import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from flinkish.operators.broadcast_state import BroadcastCopies, check_descriptors
from flinkish.operators.definition import EnginePlace, KeyedDefinition, process_engine
from flinkish.operators.runtime_context import TaskRuntimeContext
from flinkish.state.api import BroadcastState, ReadOnlyBroadcastState
from flinkish.state.descriptors import MapStateDescriptor, StateDescriptor
from flinkish.time.domain import TimeDomain
from flinkish.time.timer_service import TimerService

__all__ = ["Broadcast", "KeyedBroadcast", "NonKeyedBroadcast"]

_METHODS = ("process_element", "process_broadcast_element", "open", "close")


class _Clocks:
    """The base of all contexts; ``inner`` is the loop's context of the call."""

    def __init__(self, owner: Broadcast) -> None:
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


class _Writing(_Clocks):
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]:
        return self._owner.copies.writable(state_descriptor)


class _Reading(_Clocks):
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> ReadOnlyBroadcastState[K, V]:
        return self._owner.copies.readable(state_descriptor)


class _Context(_Writing, BroadcastProcessFunction.Context):
    pass


class _ReadOnlyContext(_Reading, BroadcastProcessFunction.ReadOnlyContext):
    pass


class _KeyedContext(_Writing, KeyedBroadcastProcessFunction.Context):
    _owner: KeyedBroadcast

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], object]
    ) -> None:
        self._owner.apply(state_descriptor, function)


class _OnTimerContext(_Reading, KeyedBroadcastProcessFunction.OnTimerContext):
    def timer_service(self) -> TimerService:
        timers: TimerService = self.inner.timer_service()
        return timers

    def get_current_key(self) -> Any:
        return self.inner.get_current_key()

    def time_domain(self) -> TimeDomain:
        domain: TimeDomain = self.inner.time_domain()
        return domain


class Broadcast(KeyedDefinition):
    """A function of a stream and a broadcast one, as a function of two inputs.

    In one place at a time: `make_engine` says where broadcast state is kept, `move` which key
    groups the table holds from then on.
    """

    _reading: type[_Reading]
    _writing: type[_Writing]
    on_timer: Callable[[int, Any], Any] | None = None

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        self.function = function
        self.visited_keys = False
        """Whether the last broadcast element saw the state of keys."""
        self._descriptors = check_descriptors(descriptors)

    @property
    def functions(self) -> Sequence[Any]:
        """This, which opens and closes the function."""
        return [self]

    @property
    def name(self) -> str:
        """The class of the function."""
        return type(self.function).__name__

    def method_of(self, number: int) -> str:
        """Each input has a method of its own."""
        return "process_element" if number == 1 else "process_broadcast_element"

    def make_engine(self, place: EnginePlace) -> KeyedProcess:
        """The loop that calls it, with broadcast state in the table of a place."""
        self._backend = place.backend
        self._read, self._write = self._reading(self), self._writing(self)
        self.copies = BroadcastCopies(self._descriptors, place.backend)
        self.move(place.groups)
        return process_engine(place, self.process_element1, self.on_timer, self.process_element2)

    def move(self, groups: Sequence[int]) -> None:
        """Say which key groups the table holds now."""
        self.copies.move(groups)

    def use_broadcast_row(self) -> None:
        """Make a row current in whose name elements without a key are handed over."""
        self.copies.use_row()

    # --- as the loop calls it

    def open(self, runtime_context: TaskRuntimeContext) -> None:
        """Open the function."""
        self.function.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        self.function.close()

    def process_element1(self, value: Any, ctx: KeyedContext) -> Any:
        """An element of the first stream."""
        self._read.inner = ctx
        return self.function.process_element(value, self._read)

    def process_element2(self, value: Any, ctx: KeyedContext) -> Any:
        """A broadcast element; no key is current for the function."""
        self._backend.table.clear_current_key()
        self._write.inner = ctx
        self.visited_keys = False
        return self.function.process_broadcast_element(value, self._write)


class NonKeyedBroadcast(Broadcast):
    """A BroadcastProcessFunction: its first stream has no keys, so it has no state of a key."""

    kind = "broadcast"
    _reading, _writing = _ReadOnlyContext, _Context

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        require_methods(
            function,
            _METHODS,
            "a stream without keys and a broadcast one needs a BroadcastProcessFunction",
        )
        if isinstance(function, KeyedBroadcastProcessFunction):
            raise ArgumentTypeError(
                "a stream without keys and a broadcast one needs a BroadcastProcessFunction, and "
                f"{function!r} is for a stream with keys: call key_by before connect"
            )
        super().__init__(function, descriptors)

    def open(self, runtime_context: TaskRuntimeContext) -> None:
        """Open the function, which has no keyed state."""
        self.function.open(runtime_context.without_keys())


class KeyedBroadcast(Broadcast):
    """A KeyedBroadcastProcessFunction."""

    kind = "keyed broadcast"
    _reading, _writing = _OnTimerContext, _KeyedContext

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        require_methods(
            function,
            ("on_timer", *_METHODS),
            "a keyed and a broadcast stream needs a KeyedBroadcastProcessFunction",
        )
        super().__init__(function, descriptors)

    def apply(self, descriptor: StateDescriptor, function: Callable[[Any, Any], object]) -> None:
        """Call ``function(key, state)`` for each key that has something in the state."""
        self.visited_keys = True
        state = self._backend.state(descriptor)
        visit_keys(
            self._backend.table, self._backend.cell_of(descriptor), lambda key: function(key, state)
        )

    def on_timer(self, timestamp: int, ctx: KeyedContext) -> Any:
        """A timer of a key."""
        self._read.inner = ctx
        return self.function.on_timer(timestamp, self._read)
