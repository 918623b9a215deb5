"""Operators with keys: whose state and timers are current, and how they are kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.state.key_rows import find_rows, forget_empty_rows, use_key
from flinkish._core.state.table import StateTable
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    NullKeyError,
    UnsupportedOperationError,
)
from flinkish.common.keys import MAY_HOLD_ZERO, normalized_key
from flinkish.operators.base import LifeCycle, OperatorEnvironment, Output, StreamOperator
from flinkish.operators.key_columns import key_reader
from flinkish.operators.runtime_context import KeyedRuntimeContext, TaskRuntimeContext
from flinkish.operators.snapshot import OperatorSnapshot, SnapshotPart
from flinkish.state.backend import KeyedStateBackend
from flinkish.time.key_groups import (
    KeyGroupRange,
    assign_to_key_group,
    assign_to_key_groups,
    compute_key_group_range_for_operator_index,
    floor_key_type,
)

__all__ = ["KeyedOperator"]

_FEW = 1_024  # keys below which looking for empty ones is not worth it


class KeyedOperator(StreamOperator):
    """An operator whose input has keys; one table holds the state and timers of its key groups.

    Subclasses say which timer services they have (``_services``) and start their timers in
    ``open``.
    """

    table: StateTable
    backend: KeyedStateBackend
    key_groups: KeyGroupRange
    runtime_context: TaskRuntimeContext

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds the operator.

        UnsupportedOperationError without a key selector (Flink: InternalTimeServiceManagerImpl).
        """
        if environment is None or environment.key_selector is None:
            raise UnsupportedOperationError(
                f"{type(self).__name__} needs keys, and its input has none; timers and state can "
                "only be used on keyed operators: use key_by before it, or give the environment "
                "a key_selector"
            )
        super().setup(output, environment)
        selector = environment.key_selector
        self._select = getattr(selector, "get_key", selector)
        service = environment.processing_time_service
        self._clock = (
            environment.current_processing_time
            if service is None
            else service.get_current_processing_time
        )
        self.key_groups = compute_key_group_range_for_operator_index(
            environment.max_parallelism, environment.parallelism, environment.index
        )
        with suppress(NullKeyError):  # an unknown type of key is refused before there is one
            assign_to_key_group(None, environment.max_parallelism, environment.key_type)
        self.table = StateTable(self.key_groups.start_key_group, self.key_groups.end_key_group)
        self.backend = KeyedStateBackend(self.table)
        self.runtime_context = KeyedRuntimeContext(self.backend, **environment.context_settings())
        self._keys_kept = _FEW
        self._restored_services: dict[str, str] = {}

    # --- keys

    def use_key_of(self, value: Any) -> None:
        """Make the key of ``value`` the current key.

        NullKeyError without a key, ArgumentTypeError for one that cannot be a key,
        IllegalArgumentError for one of another subtask.
        """
        key = self._select(value)
        if type(key) in MAY_HOLD_ZERO:
            key = normalized_key(key)
        try:
            if use_key(self.table, key):
                return
        except TypeError:
            pass  # no key at all, which the hash says better
        self.table.set_current_key(key, self._key_group_of(key, value))

    def _key_group_of(self, key: Any, value: Any) -> int:
        environment = self.environment
        try:
            group = assign_to_key_group(key, environment.max_parallelism, environment.key_type)
        except NullKeyError as error:
            raise NullKeyError(f"{error} The element is {value!r}.", value=value) from error
        if group not in self.key_groups:
            raise IllegalArgumentError(
                f"the key {key!r} belongs to key group {group}, and this is subtask "
                f"{environment.index} of {environment.parallelism} with the key groups "
                f"{self.key_groups}: send the element to the subtask of its key"
            )
        return group

    def rows_of(self, values: Sequence[Any], keys: Any = None) -> npt.NDArray[np.uint32]:
        """The table's row of the key of each value; rows of new keys are made.

        ``keys`` may be a list, or a NumPy or Arrow array of ints or strings without nulls,
        which costs no Python call a row; None asks the key selector.  Errors as `use_key_of`.
        """
        select = self._select
        if keys is None:
            keys = [select(value) for value in values]
        if len(keys) != len(values):
            raise IllegalArgumentError(f"{len(values)} values came with {len(keys)} keys")
        if not isinstance(keys, list):
            found = self._rows_of_array(keys)
            if found is not None:
                return found
            keys = keys.to_pylist() if isinstance(keys, pa.Array) else list(keys)
        rows = np.empty(len(keys), np.uint32)
        if not MAY_HOLD_ZERO.isdisjoint(map(type, keys)):
            keys = [normalized_key(key) for key in keys]
        try:
            unknown = find_rows(self.table, keys, rows)
        except TypeError as error:
            for key, value in zip(keys, values, strict=True):
                self._key_group_of(key, value)  # the error says which
            raise ArgumentTypeError(str(error)) from error
        if unknown:
            new = [keys[at] for at in unknown]
            groups = [self._key_group_of(keys[at], values[at]) for at in unknown]
            made = np.empty(len(new), np.uint32)
            self.table.intern_objects(new, np.array(groups, np.int32), made)
            rows[unknown] = made
        return rows

    def _rows_of_array(self, keys: Any) -> npt.NDArray[np.uint32] | None:
        """The rows of an array of keys; None when there is no quick way for them."""
        environment = self.environment
        is_int = isinstance(keys, np.ndarray) and keys.ndim == 1 and keys.dtype.kind == "i"
        is_text = isinstance(keys, pa.StringArray) and keys.null_count == 0
        if not is_int and not is_text:
            return None
        if is_int and environment.key_type is None and len(keys) and keys.min() < 0:
            # Alone, an untyped negative int is hashed by its size, in a column by the column's.
            return None
        groups = assign_to_key_groups(keys, environment.max_parallelism, environment.key_type)
        held = self.key_groups
        if len(groups) and not (groups.min() in held and groups.max() in held):
            at = next(i for i, group in enumerate(groups.tolist()) if group not in held)
            raise IllegalArgumentError(
                f"the key {keys[at]!r} belongs to key group {groups[at]}, and this subtask has the "
                f"key groups {held}: send the element to the subtask of its key"
            )
        return key_reader(pa.array(keys) if is_int else keys).rows(self.table, groups=groups)

    def _forget_keys(self) -> None:
        """Forget keys that hold nothing, when there are twice as many as were left last time.

        So a row is looked at a constant number of times for each that is made.
        """
        if self.table.number_of_keys > 2 * self._keys_kept:
            self.backend.expire()
            forget_empty_rows(self.table)
            self._keys_kept = max(self.table.number_of_keys, _FEW)

    # --- snapshots

    @abstractmethod
    def _services(self) -> dict[str, str]:
        """Timer services by number: name to name of the namespaces' serializer."""

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        """State and timers of every key; see `OperatorSnapshot`."""
        self._require_state("snapshot_state")
        self.table.processing_time = self._clock()
        self.backend.expire()
        forget_empty_rows(self.table)
        groups = self.backend.snapshot()
        sealed = {g: OperatorSnapshot.seal_group(g, whole) for g, whole in groups.items()}
        return OperatorSnapshot(
            type(self).__name__,
            self.environment.max_parallelism,
            self._key_type_name(),
            self._services(),
            [SnapshotPart(self.backend.declarations, sealed)],
            checkpoint_id,
        ).to_bytes()

    def initialize_state(self, state: bytes | None = None) -> None:
        """Start from a snapshot of this operator, or empty.

        CorruptStateError for damaged bytes; IncompatibleStateError for another operator, max
        parallelism, key type or kind of state; IllegalArgumentError for key groups of other
        subtasks (Flink: InternalTimerServiceImpl).
        """
        super().initialize_state(state)
        if state is None:
            return
        snapshot = OperatorSnapshot.from_bytes(state)
        snapshot.check_setting("operator", type(self).__name__)
        snapshot.check_setting("max_parallelism", self.environment.max_parallelism)
        snapshot.check_setting("key_type", self._key_type_name())
        foreign = [group for group in snapshot.key_groups if group not in self.key_groups]
        if foreign:
            raise IllegalArgumentError(
                f"the snapshot holds key group {foreign[0]}, and this subtask has "
                f"{self.key_groups}: cut it with repartition_operator_state first"
            )
        for states, groups in snapshot.states_of():
            self.backend.restore(groups, states)
        self._restored_services = snapshot.services
        self._keys_kept = max(self.table.number_of_keys, _FEW)

    def _key_type_name(self) -> str:
        return repr(floor_key_type(self.environment.key_type))

    # --- the end

    def close(self) -> None:
        """Give the memory back."""
        if self.life not in (LifeCycle.CREATED, LifeCycle.CLOSED):
            self.table.close()
        super().close()

    # --- what is held

    def _require_table(self) -> StateTable:
        if self.life in (LifeCycle.CREATED, LifeCycle.CLOSED):
            raise IllegalStateError(
                f"{type(self).__name__} is {self.life.value}; it holds state from setup to close"
            )
        return self.table

    def num_event_time_timers(self) -> int:
        """Event-time timers of all keys."""
        return self._require_table().number_of_event_timers

    def num_processing_time_timers(self) -> int:
        """Processing-time timers of all keys."""
        return self._require_table().number_of_processing_timers

    def num_keyed_state_entries(self) -> int:
        """Keys with something in a state, summed over all states."""
        self._require_table()
        return self.backend.number_of_entries()
