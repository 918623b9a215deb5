"""Operators of a stream, keyed or not, and one that all its elements share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from flinkish._core.operators.keyed_process import KeyedContext, KeyedProcess, KeyedTimerService
from flinkish._core.state.key_rows import visit_keys
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.common.notes import dated
from flinkish.common.output_tag import OutputTag
from flinkish.functions.broadcast import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from flinkish.operators.base import OperatorEnvironment, Output
from flinkish.operators.broadcast_state import BroadcastCopies, check_descriptors
from flinkish.operators.runtime_context import TaskRuntimeContext
from flinkish.operators.two_input import KeyedTwoInputOperator, check_function
from flinkish.state.api import BroadcastState, ReadOnlyBroadcastState
from flinkish.state.backend import KeyedStateBackend
from flinkish.state.descriptors import MapStateDescriptor, StateDescriptor
from flinkish.time.domain import TimeDomain
from flinkish.time.namespaces import VOID_NAMESPACE
from flinkish.time.timer_service import TimerService

__all__ = [
    "Broadcast",
    "CoBroadcastWithKeyedOperator",
    "CoBroadcastWithNonKeyedOperator",
    "KeyedBroadcast",
    "NonKeyedBroadcast",
]

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
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._owner.copies.writable(state_descriptor)


class _Reading(_Clocks):
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> ReadOnlyBroadcastState[Any, Any]:
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


class Broadcast:
    """A function of a stream and a broadcast one, as a function of two inputs.

    `bind` before `open`; ``groups`` are the key groups that the table holds from then on.
    """

    _reading: type[_Reading]
    _writing: type[_Writing]
    on_timer: Callable[[int, Any], Any] | None = None

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        self.function = function
        self._descriptors = check_descriptors(descriptors)

    def bind(self, backend: KeyedStateBackend, groups: Sequence[int]) -> None:
        """Say where state is kept."""
        self._backend = backend
        self._read, self._write = self._reading(self), self._writing(self)
        self.copies = BroadcastCopies(self._descriptors, backend)
        self.move(groups)

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
        return self.function.process_broadcast_element(value, self._write)


class NonKeyedBroadcast(Broadcast):
    """A BroadcastProcessFunction: its first stream has no keys, so it has no state of a key."""

    _reading, _writing = _ReadOnlyContext, _Context

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        check_function(
            function,
            BroadcastProcessFunction,
            _METHODS,
            "a stream without keys and a broadcast one",
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

    _reading, _writing = _OnTimerContext, _KeyedContext

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        check_function(
            function,
            KeyedBroadcastProcessFunction,
            ("on_timer", *_METHODS),
            "a keyed and a broadcast stream",
        )
        super().__init__(function, descriptors)

    def apply(self, descriptor: StateDescriptor, function: Callable[[Any, Any], object]) -> None:
        """Call ``function(key, state)`` for each key that has something in the state."""
        state = self._backend.state(descriptor)
        visit_keys(
            self._backend.table, self._backend.cell_of(descriptor), lambda key: function(key, state)
        )

    def on_timer(self, timestamp: int, ctx: KeyedContext) -> Any:
        """A timer of a key."""
        self._read.inner = ctx
        return self.function.on_timer(timestamp, self._read)


class _CoBroadcastOperator(KeyedTwoInputOperator):
    """Runs a function of a stream and a broadcast one."""

    def __init__(self, broadcast: Broadcast) -> None:
        super().__init__()
        self.function = broadcast.function
        self._broadcast = broadcast

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


class CoBroadcastWithKeyedOperator(_CoBroadcastOperator):
    """Runs a KeyedBroadcastProcessFunction: the first input has keys, the second is broadcast.

    In Flink's order: broadcast elements take effect as they come, for all keys.
    """

    def __init__(
        self,
        function: KeyedBroadcastProcessFunction,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        super().__init__(KeyedBroadcast(function, broadcast_state_descriptors))

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds it; broadcast elements need no key selector."""
        if environment is not None and environment.key_selector2 is None:
            environment = replace(environment, key_selector2=_no_key)
        super().setup(output, environment)

    def use_key_of(self, value: Any) -> None:
        """The key of a keyed element; broadcast elements have none."""
        if self.engine.input == 1:
            super().use_key_of(value)
        else:
            self._broadcast.use_broadcast_row()


class CoBroadcastWithNonKeyedOperator(_CoBroadcastOperator):
    """Runs a BroadcastProcessFunction: the first input has no keys, the second is broadcast.

    There is neither keyed state nor a timer.  A snapshot holds a copy of the broadcast state for
    each key group, as with keys, and is cut and joined in the same way.
    """

    def __init__(
        self,
        function: BroadcastProcessFunction,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        super().__init__(NonKeyedBroadcast(function, broadcast_state_descriptors))

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds it; there are no keys to select."""
        environment = environment or OperatorEnvironment()
        super().setup(output, replace(environment, key_selector=_no_key, key_selector2=_no_key))
        self.runtime_context = self.runtime_context.without_keys()

    def use_key_of(self, value: Any) -> None:
        """No element has a key."""
        self._broadcast.use_broadcast_row()

    def _whose_element(self) -> str:
        return f"timestamp {dated(self.engine.last_timestamp)}"


def _no_key(value: Any) -> NoReturn:
    raise UnsupportedOperationError(f"the element {value!r} has no key")
