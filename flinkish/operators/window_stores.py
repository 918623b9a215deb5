"""Where window functions and assigners get their states and the time from."""

from __future__ import annotations

from typing import Any, NoReturn

from flinkish._core.state.table import StateTable
from flinkish.common.errors import UnsupportedOperationError
from flinkish.functions.runtime_context import KeyedStateStore, RuntimeContext
from flinkish.state.backend import KeyedStateBackend
from flinkish.state.descriptors import StateDescriptor
from flinkish.windowing.assigner import WindowAssigner

__all__ = ["AssignerContext", "MergingWindowStore", "StateStore"]


class StateStore(KeyedStateStore):
    """States of the current row, or of the key of that row (``of_key``)."""

    def __init__(self, backend: KeyedStateBackend, *, of_key: bool) -> None:
        self._backend = backend
        self._of_key = of_key

    def get_state(self, state_descriptor: StateDescriptor) -> Any:
        """A value."""
        return self._backend.state(state_descriptor, of_key=self._of_key)

    def get_list_state(self, state_descriptor: StateDescriptor) -> Any:
        """A list."""
        return self._backend.state(state_descriptor, of_key=self._of_key)

    def get_map_state(self, state_descriptor: StateDescriptor) -> Any:
        """A map."""
        return self._backend.state(state_descriptor, of_key=self._of_key)

    def get_reducing_state(self, state_descriptor: StateDescriptor) -> Any:
        """A reduced value."""
        return self._backend.state(state_descriptor, of_key=self._of_key)

    def get_aggregating_state(self, state_descriptor: StateDescriptor) -> Any:
        """An accumulator."""
        return self._backend.state(state_descriptor, of_key=self._of_key)


class MergingWindowStore(KeyedStateStore):
    """The states of a window that may merge: there are none (Flink: WindowOperator)."""

    def _refuse(self) -> NoReturn:
        raise UnsupportedOperationError(
            "Per-window state is not allowed when using merging windows: a merged window would "
            "have that of several; use global_state(), or what the trigger or accumulator can merge"
        )

    def get_state(self, state_descriptor: StateDescriptor) -> NoReturn:
        """Refused."""
        self._refuse()

    def get_list_state(self, state_descriptor: StateDescriptor) -> NoReturn:
        """Refused."""
        self._refuse()

    def get_map_state(self, state_descriptor: StateDescriptor) -> NoReturn:
        """Refused."""
        self._refuse()

    def get_reducing_state(self, state_descriptor: StateDescriptor) -> NoReturn:
        """Refused."""
        self._refuse()

    def get_aggregating_state(self, state_descriptor: StateDescriptor) -> NoReturn:
        """Refused."""
        self._refuse()


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """The clock of the table, and the runtime context of the operator."""

    def __init__(self, table: StateTable, runtime_context: RuntimeContext) -> None:
        self._table = table
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        """The clock, in ms."""
        return self._table.processing_time

    def get_runtime_context(self) -> RuntimeContext:
        """Where the operator runs; its states are those of the element's key."""
        return self._runtime_context
