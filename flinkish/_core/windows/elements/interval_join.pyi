"""The inner loop of an interval join."""

from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import disjoint_base

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish._core.state.table import StateTable

@disjoint_base
class JoinContext:
    """Flink's ProcessJoinFunction.Context."""

    def get_left_timestamp(self) -> int: ...
    def get_right_timestamp(self) -> int: ...
    def get_timestamp(self) -> int: ...

@disjoint_base
class JoinInput:
    """One input of a join."""

    def __init__(
        self,
        cell: int,
        lower: int,
        upper: int,
        late_tag: object = None,
        names: Iterable[str] | None = None,
    ) -> None: ...

@disjoint_base
class IntervalJoin(KeyedProcess):
    """Calls a function for each pair of elements within bounds of each other."""

    @property
    def dropped(self) -> int: ...
    def __init__(
        self,
        table: StateTable,
        timers: KeyedTimerService,
        process_element: Callable[[Any, Any, Any], object],
        tag_type: type,
        event_domain: object,
        processing_domain: object,
        left: JoinInput,
        right: JoinInput,
    ) -> None: ...
