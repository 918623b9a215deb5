"""Keyed state and timers of a range of key groups, as flat memory."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

FILES: Final[tuple[str, ...]]

@disjoint_base
class StateTable:
    """Keyed state and timers, on the heap or over the files of one key group."""

    @property
    def cells(self) -> list[Any]: ...
    processing_time: int
    watermark: int
    illegal_state: type[Exception]
    illegal_argument: type[Exception]
    illegal_type: type[Exception]
    not_serializable: type[Exception]
    def __init__(
        self,
        first_key_group: int | None = None,
        last_key_group: int | None = None,
        *,
        tracking: bool = False,
    ) -> None: ...
    def map(
        self, descriptors: list[int], key_group: int, *, create: bool, state: bytes | None = None
    ) -> None: ...
    def seal(self, state: bytes) -> None: ...
    @property
    def in_files(self) -> bool: ...
    def track(self, tracking: bool) -> None: ...
    def close(self) -> None: ...
    def add_cell(self, description: object) -> int: ...
    def set_current_key(
        self, key: object, key_group: int = 0, namespace: object = None
    ) -> None: ...
    def clear_current_key(self) -> None: ...
    def current_key(self) -> Any: ...
    def key_of(self, row: int) -> Any: ...
    def check_key_group(self, key_group: int) -> None: ...
    def check_lengths(
        self, count: int, key_groups: NDArray[np.int32] | None, rows: NDArray[np.uint32]
    ) -> None: ...
    def intern_ints(
        self,
        keys: NDArray[np.int64],
        key_groups: NDArray[np.int32] | None,
        rows: NDArray[np.uint32],
        tag: int = 3,
    ) -> None: ...
    def intern_strings(
        self,
        offsets: NDArray[np.int32],
        data: NDArray[np.uint8],
        key_groups: NDArray[np.int32] | None,
        rows: NDArray[np.uint32],
        tag: int = 6,
    ) -> None: ...
    def intern_packed(
        self,
        offsets: NDArray[np.int32],
        data: NDArray[np.uint8],
        key_groups: NDArray[np.int32] | None,
        rows: NDArray[np.uint32],
    ) -> None: ...
    def intern_objects(
        self, keys: list[Any], key_groups: NDArray[np.int32] | None, rows: NDArray[np.uint32]
    ) -> None: ...
    def forget(self, row: int) -> None: ...
    def number_of_entries(self, cell: int) -> int: ...
    @property
    def number_of_keys(self) -> int: ...
    @property
    def number_of_event_timers(self) -> int: ...
    @property
    def number_of_processing_timers(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    def _check(self) -> None: ...
