"""A set of timers in firing order, for a range of key groups."""

from typing import SupportsIndex, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Timer: TypeAlias = tuple[int, int, int]
_Timers: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]

@final
class TimerHeap:
    """Timers of the key groups ``first_key_group`` to ``last_key_group``, both included."""

    def __new__(
        cls, first_key_group: SupportsIndex = 0, last_key_group: SupportsIndex = 0
    ) -> TimerHeap: ...
    def __len__(self) -> int: ...
    @property
    def first_key_group(self) -> int: ...
    @property
    def last_key_group(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    def add(
        self,
        timestamp: SupportsIndex,
        key: SupportsIndex,
        namespace: SupportsIndex = 0,
        key_group: SupportsIndex = 0,
    ) -> bool: ...
    def remove(
        self,
        timestamp: SupportsIndex,
        key: SupportsIndex,
        namespace: SupportsIndex = 0,
        key_group: SupportsIndex = 0,
    ) -> bool: ...
    def contains(
        self,
        timestamp: SupportsIndex,
        key: SupportsIndex,
        namespace: SupportsIndex = 0,
        key_group: SupportsIndex = 0,
    ) -> bool: ...
    def peek(self) -> _Timer | None: ...
    def poll(self) -> _Timer | None: ...
    def add_many(
        self,
        timestamps: NDArray[np.int64],
        keys: NDArray[np.uint32],
        namespaces: NDArray[np.uint32] | int | None = None,
        key_groups: NDArray[np.uint32] | int | None = None,
    ) -> int: ...
    def remove_many(
        self,
        timestamps: NDArray[np.int64],
        keys: NDArray[np.uint32],
        namespaces: NDArray[np.uint32] | int | None = None,
        key_groups: NDArray[np.uint32] | int | None = None,
    ) -> int: ...
    def poll_until(
        self, timestamp: SupportsIndex, limit: SupportsIndex | None = None
    ) -> _Timers: ...
    def timers_of(self, key_group: SupportsIndex) -> _Timers: ...
    def take_key_group(self, key_group: SupportsIndex) -> _Timers: ...
    def clear(self) -> None: ...
    def _check(self) -> None: ...

@final
class TimerBlock:
    """The memory of a result."""
