"""The inner loop of a window operator."""

from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import disjoint_base

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish._core.state.table import StateTable

@disjoint_base
class WindowValues:
    """Writes and reads values."""

    @property
    def names(self) -> tuple[str, ...] | None: ...
    def __init__(self, names: Iterable[str] | None = None) -> None: ...

@disjoint_base
class WindowContents:
    """The contents of windows, in one cell of each window's row; a base class."""

    def __init__(
        self, table: StateTable, cell: int, names: Iterable[str] | None = None
    ) -> None: ...
    def no_contents(self) -> Exception: ...

class ElementContents(WindowContents):
    """All elements of a window."""

@disjoint_base
class FoldedContents(WindowContents):
    """One value that stands for all elements of a window; a base class."""

class ReducedContents(FoldedContents):
    """The elements of a window, reduced to one."""

    def __init__(
        self,
        table: StateTable,
        cell: int,
        names: Iterable[str] | None,
        reduce: Callable[[Any, Any], Any],
    ) -> None: ...

@disjoint_base
class AggregatedContents(FoldedContents):
    """The accumulator of an AggregateFunction over the elements of a window."""

    def __init__(
        self, table: StateTable, cell: int, names: Iterable[str] | None, function: Any
    ) -> None: ...

@disjoint_base
class WindowTriggerContext:
    """PyFlink's Trigger.TriggerContext and Trigger.OnMergeContext."""

    @property
    def timers(self) -> KeyedTimerService: ...
    def __init__(
        self,
        table: StateTable,
        timers: KeyedTimerService,
        state_of: Callable[[Any], Any],
        metrics: Any,
    ) -> None: ...
    def get_current_processing_time(self) -> int: ...
    def get_current_watermark(self) -> int: ...
    def get_metric_group(self) -> Any: ...
    def register_event_time_timer(self, time: int) -> None: ...
    def register_processing_time_timer(self, time: int) -> None: ...
    def delete_event_time_timer(self, time: int) -> None: ...
    def delete_processing_time_timer(self, time: int) -> None: ...
    def get_partitioned_state(self, state_descriptor: Any) -> Any: ...
    def merge_partitioned_state(self, state_descriptor: Any) -> None: ...
    def call_on_merge(
        self, on_merge: Callable[[Any, Any], object], window: Any, rows: list[int]
    ) -> None: ...
    def current_row(self) -> int: ...
    def number_of_states(self) -> int: ...

@disjoint_base
class WindowContext:
    """PyFlink's ProcessWindowFunction.Context and ProcessAllWindowFunction.Context."""

    def __init__(self, table: StateTable, window_store: Any, global_store: Any) -> None: ...
    def window(self) -> Any: ...
    def current_processing_time(self) -> int: ...
    def current_watermark(self) -> int: ...
    def window_state(self) -> Any: ...
    def global_state(self) -> Any: ...

@disjoint_base
class MergingWindowedProcess(WindowedProcess):
    """Runs windows that merge over a table."""

    def __init__(
        self,
        table: StateTable,
        timers: KeyedTimerService,
        tag_type: type,
        event_domain: object,
        processing_domain: object,
        contents: WindowContents,
        triggers: WindowTriggerContext,
        windows: WindowContext,
        plan: Any,
        set_cell: int,
    ) -> None: ...

@disjoint_base
class WindowedProcess(KeyedProcess):
    """Runs windows over a table."""

    @property
    def unplaced(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    def __init__(
        self,
        table: StateTable,
        timers: KeyedTimerService,
        tag_type: type,
        event_domain: object,
        processing_domain: object,
        contents: WindowContents,
        triggers: WindowTriggerContext,
        windows: WindowContext,
        plan: Any,
    ) -> None: ...
