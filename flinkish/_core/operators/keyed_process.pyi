"""The inner loop of a keyed process operator."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from flinkish._core.state.table import StateTable

@disjoint_base
class KeyedTimerService:
    """PyFlink's TimerService for the current key."""

    @property
    def registered(self) -> int: ...
    @property
    def deleted(self) -> int: ...
    @property
    def ignored(self) -> int: ...
    quiesces: bool
    most_chained: int
    def __init__(
        self,
        table: StateTable,
        service: int = 0,
        on_earlier: Callable[[int], object] | None = None,
        refusal: str | None = None,
        event_refusal: str | None = None,
    ) -> None: ...
    def current_processing_time(self) -> int: ...
    def current_watermark(self) -> int: ...
    def register_event_time_timer(self, timestamp: int) -> None: ...
    def delete_event_time_timer(self, timestamp: int) -> None: ...
    def register_processing_time_timer(self, timestamp: int) -> None: ...
    def delete_processing_time_timer(self, timestamp: int) -> None: ...

@disjoint_base
class KeyedContext:
    """PyFlink's KeyedProcessFunction.Context."""

    @property
    def timers(self) -> KeyedTimerService: ...
    def __init__(self, table: StateTable, timers: KeyedTimerService) -> None: ...
    def timestamp(self) -> int | None: ...
    def timer_service(self) -> KeyedTimerService: ...
    def get_current_key(self) -> Any: ...

@disjoint_base
class KeyedTimerContext(KeyedContext):
    """PyFlink's KeyedProcessFunction.OnTimerContext."""

    def time_domain(self) -> Any: ...

@disjoint_base
class KeyedProcess:
    """Runs one keyed function over a table."""

    @property
    def timers(self) -> KeyedTimerService: ...
    input: int
    output_limit: int

    @property
    def is_full(self) -> bool: ...
    @property
    def fired(self) -> int: ...
    @property
    def late(self) -> int: ...
    @property
    def processed(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def last_key(self) -> Any: ...
    @property
    def last_timestamp(self) -> int | None: ...
    @property
    def has_output(self) -> bool: ...
    def __init__(
        self,
        table: StateTable,
        timers: KeyedTimerService,
        process_element: Callable[[Any, Any], object],
        on_timer: Callable[[int, Any], object] | None,
        tag_type: type,
        event_domain: object,
        processing_domain: object,
        process_second: Callable[[Any, Any], object] | None = None,
    ) -> None: ...
    def process(self, value: Any, timestamp: int | None) -> None: ...
    def process_batch(
        self,
        values: list[Any],
        rows: NDArray[np.uint32],
        timestamps: NDArray[np.int64] | None,
        inputs: NDArray[np.uint8] | None = None,
        start: int = 0,
    ) -> int: ...
    def advance_watermark(
        self, watermark: int, stop: Callable[[], object] | None = None
    ) -> bool: ...
    def advance_processing_time(
        self, time: int, stop: Callable[[], object] | None = None
    ) -> bool: ...
    def next_event_timer(self) -> int | None: ...
    def next_processing_timer(self) -> int | None: ...
    def take_output(
        self,
    ) -> tuple[list[Any], list[int | None], dict[Any, tuple[list[Any], list[int | None]]]]: ...
