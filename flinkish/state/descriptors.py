"""Names and types of states: what ``runtime_context.get_state(…)`` is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.type_variables import (
    ACC_co,
    IN_contra,
    K_co,
    OUT_co,
    Subscriptable,
    T_co,
    V_co,
)
from flinkish.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation, as_type_information

if TYPE_CHECKING:
    from typing import Protocol, overload

    from flinkish.common.type_variables import ACC, IN, OUT, T
    from flinkish.state.ttl import StateTtlConfig

    class _Aggregate(Protocol[IN_contra, ACC, OUT_co]):
        def create_accumulator(self) -> ACC: ...
        def add(self, value: IN_contra, accumulator: ACC, /) -> ACC: ...
        def get_result(self, accumulator: ACC, /) -> OUT_co: ...


__all__ = [
    "AggregatingStateDescriptor",
    "CallableReduce",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "ReducingStateDescriptor",
    "StateDescriptor",
    "ValueStateDescriptor",
    "as_reduce",
]


def _slip(function: Any) -> str:
    return f": make one: {function.__name__}(…)" if isinstance(function, type) else ""


class CallableReduce:
    """A plain function of two values, as a ReduceFunction."""

    __slots__ = ("reduce",)

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.reduce = function

    def open(self, runtime_context: Any) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Nothing to close."""

    def __eq__(self, other: Any) -> bool:
        return self.reduce == other.reduce if isinstance(other, CallableReduce) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.reduce)


def as_reduce(function: Any, wanted: str) -> Any:
    """A ReduceFunction as it is, a plain function of two values as one.

    ArgumentTypeError for anything else; its message begins with ``wanted``.
    """
    if isinstance(function, type) or not callable(getattr(function, "reduce", function)):
        raise ArgumentTypeError(
            f"{wanted} a ReduceFunction or a function of two values, not "
            f"{function!r}{_slip(function)}"
        )
    return function if hasattr(function, "reduce") else CallableReduce(function)


class StateDescriptor:
    """The name of a state, unique within its function, the type of what it keeps, its TTL.

    Types may be given as TypeInformation, as Spark DDL (``"bigint"``), or left out: then
    objects are pickled.  Descriptors are equal if they are of one kind and agree in name,
    type, functions and TTL.

    ArgumentTypeError for a name that is not a str or a type that is none;
    IllegalArgumentError for an empty name.
    """

    def __init__(self, name: str, type_info: TypeInformation | str | None = None) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"the name of a state must be a str, not {name!r}")
        if not name:
            raise IllegalArgumentError("the name of a state must not be empty")
        self.name = name
        self.type_info = as_type_information(type_info, f"the type of state {name!r}")
        self._ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """The name of the state, which is its identity in checkpoints."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the state expire; a config whose update type is ``Disabled`` turns that off."""
        from flinkish.state.ttl import StateTtlConfig

        if not isinstance(ttl_config, StateTtlConfig):
            raise ArgumentTypeError(
                f"ttl_config of state {self.name!r} must be a StateTtlConfig, as its builder's "
                f"build() gives it, not {ttl_config!r}"
            )
        self._ttl_config = ttl_config

    @property
    def ttl_config(self) -> StateTtlConfig | None:
        """The time to live, or None for state that does not expire."""
        config = self._ttl_config
        return config if config is not None and config.is_enabled() else None

    def _key(self) -> tuple[Any, ...]:
        return type(self), self.name, self.type_info, self.ttl_config

    def __eq__(self, other: Any) -> bool:
        return self._key() == other._key() if isinstance(other, StateDescriptor) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor, Subscriptable[T_co]):
    """One value of a key."""

    def __init__(
        self, name: str, value_type_info: TypeInformation[T_co] | str | None = None
    ) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor, Subscriptable[T_co]):
    """A list of values of a key; ``elem_type_info`` is the type of one."""

    def __init__(
        self, name: str, elem_type_info: TypeInformation[T_co] | str | None = None
    ) -> None:
        super().__init__(name)
        self.elem_type_info = as_type_information(
            elem_type_info, f"the type of elements of state {name!r}"
        )
        self.type_info = ListTypeInfo(self.elem_type_info)


class MapStateDescriptor(StateDescriptor, Subscriptable[K_co, V_co]):
    """A map of a key, with keys and values of its own."""

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation[K_co] | str | None = None,
        value_type_info: TypeInformation[V_co] | str | None = None,
    ) -> None:
        super().__init__(name)
        self.key_type_info = as_type_information(
            key_type_info, f"the type of keys of state {name!r}"
        )
        self.value_type_info = as_type_information(
            value_type_info, f"the type of values of state {name!r}"
        )
        self.type_info = MapTypeInfo(self.key_type_info, self.value_type_info)


class ReducingStateDescriptor(StateDescriptor, Subscriptable[T_co]):
    """A value of a key into which a function folds what is added.

    ``reduce_function`` is a ReduceFunction or a plain function of two values.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: ReducingStateDescriptor[T],
            name: str,
            reduce_function: Callable[[T, T], T] | Any,
            type_info: TypeInformation[T],
        ) -> None: ...
        @overload
        def __init__(
            self: ReducingStateDescriptor[Any],
            name: str,
            reduce_function: Any,
            type_info: str | None = None,
        ) -> None: ...

    def __init__(
        self, name: str, reduce_function: Any, type_info: TypeInformation | str | None = None
    ) -> None:
        super().__init__(name, type_info)
        self._reduce_function = as_reduce(
            reduce_function, f"reduce_function of state {name!r} must be"
        )

    def get_reduce_function(self) -> Any:
        """The ReduceFunction; a plain function comes wrapped in one."""
        return self._reduce_function

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), self._reduce_function


class AggregatingStateDescriptor(StateDescriptor, Subscriptable[IN_contra, ACC_co, OUT_co]):
    """An accumulator of a key; ``state_type_info`` is the type of the accumulator.

    Type checkers know the types of inputs and results if ``agg_function``'s methods have hints.
    """

    _METHODS = ("create_accumulator", "add", "get_result")

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: AggregatingStateDescriptor[IN, ACC, OUT],
            name: str,
            agg_function: _Aggregate[IN, ACC, OUT],
            state_type_info: TypeInformation | str | None = None,
        ) -> None: ...
        @overload
        def __init__(
            self: AggregatingStateDescriptor[Any, Any, Any],
            name: str,
            agg_function: Any,
            state_type_info: TypeInformation | str | None = None,
        ) -> None: ...

    def __init__(
        self,
        name: str,
        agg_function: Any,
        state_type_info: TypeInformation | str | None = None,
    ) -> None:
        super().__init__(name, state_type_info)
        missing = [one for one in self._METHODS if not callable(getattr(agg_function, one, None))]
        if isinstance(agg_function, type) or missing:
            lacks = f": {', '.join(missing)} missing" if missing else _slip(agg_function)
            raise ArgumentTypeError(
                f"agg_function of state {name!r} must be an AggregateFunction, not "
                f"{agg_function!r}{lacks}"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The AggregateFunction that adds values to the state."""
        return self._agg_function

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), self._agg_function
