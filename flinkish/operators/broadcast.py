"""Operators of a stream, keyed or not, and one that all its elements share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.notes import dated
from flinkish.functions.broadcast import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from flinkish.operators.base import OperatorEnvironment, Output
from flinkish.operators.broadcast_definition import Broadcast, KeyedBroadcast, NonKeyedBroadcast
from flinkish.operators.two_input import KeyedTwoInputOperator
from flinkish.state.descriptors import MapStateDescriptor

__all__ = ["CoBroadcastWithKeyedOperator", "CoBroadcastWithNonKeyedOperator"]


class _CoBroadcastOperator(KeyedTwoInputOperator):
    """Runs a function of a stream and a broadcast one."""

    definition: Broadcast

    def __init__(self, definition: Broadcast) -> None:
        super().__init__(definition)
        self.function = definition.function


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
            self.definition.use_broadcast_row()


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

    def use_key_of(self, value: Any) -> None:
        """No element has a key."""
        self.definition.use_broadcast_row()

    def _whose_element(self) -> str:
        return f"timestamp {dated(self.engine.last_timestamp)}"


def _no_key(value: Any) -> NoReturn:
    raise UnsupportedOperationError(f"the element {value!r} has no key")
