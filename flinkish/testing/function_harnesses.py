"""Harnesses around functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flinkish.functions.base import KeySelector
from flinkish.functions.broadcast import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from flinkish.functions.process import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from flinkish.operators.broadcast import (
    CoBroadcastWithKeyedOperator,
    CoBroadcastWithNonKeyedOperator,
)
from flinkish.operators.keyed_process import KeyedProcessOperator
from flinkish.operators.process import ProcessOperator
from flinkish.operators.two_input import KeyedCoProcessOperator
from flinkish.state.descriptors import MapStateDescriptor
from flinkish.testing.harness import (
    KeyedOneInputStreamOperatorTestHarness,
    OneInputStreamOperatorTestHarness,
)
from flinkish.testing.two_input_harness import (
    KeyedTwoInputStreamOperatorTestHarness,
    TwoInputStreamOperatorTestHarness,
)
from flinkish.time.key_groups import KeyType

__all__ = ["ProcessFunctionTestHarnesses"]


class ProcessFunctionTestHarnesses:
    """Harnesses around functions, opened."""

    @staticmethod
    def for_keyed_process_function(
        function: KeyedProcessFunction,
        key_selector: Callable[[Any], Any] | KeySelector,
        key_type: KeyType = None,
    ) -> KeyedOneInputStreamOperatorTestHarness[KeyedProcessOperator]:
        """A harness of one subtask for a keyed function."""
        harness = KeyedOneInputStreamOperatorTestHarness(
            KeyedProcessOperator(function), key_selector, key_type
        )
        harness.open()
        return harness

    @staticmethod
    def for_process_function(
        function: ProcessFunction,
    ) -> OneInputStreamOperatorTestHarness[ProcessOperator]:
        """A harness for a function without keys."""
        harness = OneInputStreamOperatorTestHarness(ProcessOperator(function))
        harness.open()
        return harness

    @staticmethod
    def for_keyed_co_process_function(
        function: KeyedCoProcessFunction,
        key_selector1: Callable[[Any], Any] | KeySelector,
        key_selector2: Callable[[Any], Any] | KeySelector,
        key_type: KeyType = None,
    ) -> KeyedTwoInputStreamOperatorTestHarness[KeyedCoProcessOperator]:
        """A harness of one subtask for a keyed function of two inputs."""
        harness = KeyedTwoInputStreamOperatorTestHarness(
            KeyedCoProcessOperator(function), key_selector1, key_selector2, key_type
        )
        harness.open()
        return harness

    @staticmethod
    def for_broadcast_process_function(
        function: BroadcastProcessFunction,
        descriptors: Sequence[MapStateDescriptor],
    ) -> TwoInputStreamOperatorTestHarness[CoBroadcastWithNonKeyedOperator]:
        """A harness of one subtask without keys, whose second input is broadcast."""
        harness = TwoInputStreamOperatorTestHarness(
            CoBroadcastWithNonKeyedOperator(function, descriptors)
        )
        harness.open()
        return harness

    @staticmethod
    def for_keyed_broadcast_process_function(
        function: KeyedBroadcastProcessFunction,
        key_selector: Callable[[Any], Any] | KeySelector,
        descriptors: Sequence[MapStateDescriptor],
        key_type: KeyType = None,
    ) -> KeyedTwoInputStreamOperatorTestHarness[CoBroadcastWithKeyedOperator]:
        """A harness of one subtask whose second input is broadcast."""
        harness = KeyedTwoInputStreamOperatorTestHarness(
            CoBroadcastWithKeyedOperator(function, descriptors), key_selector, None, key_type
        )
        harness.open()
        return harness
