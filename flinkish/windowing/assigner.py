"""The base of all window assigners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from flinkish.common.errors import TimestampError
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.common.type_variables import W2, T, W

if TYPE_CHECKING:
    from flinkish.functions.runtime_context import RuntimeContext
    from flinkish.windowing.trigger import Trigger

__all__ = ["MergingWindowAssigner", "WindowAssigner", "event_time_of"]


class WindowAssigner(ABC, Generic[T, W]):
    """Says which windows an element belongs to.

    Assigners of time windows carry their numbers, in ms, for operators that compute windows by the
    column: ``size``, ``slide``, ``offset``, ``gap``; None where there is no such number.  A
    tumbling window has ``slide == size``; a cumulative one has ``size`` and ``step``.
    """

    is_merging: ClassVar[bool] = False
    """Whether windows of a key may become one, so that trigger and state must merge."""

    size: int | None = None
    slide: int | None = None
    step: int | None = None
    offset: int | None = None
    gap: int | None = None

    class WindowAssignerContext(ABC):
        """The questions that an assigner may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The clock, in ms."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Where the operator runs; its states are those of the element's key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of ``element``, whose event time is ``timestamp`` (ms, or None)."""

    @abstractmethod
    def get_default_trigger(self, env: Any = None) -> Trigger:
        """The trigger of those who name none; ``env`` is there for PyFlink's sake."""

    @abstractmethod
    def get_window_serializer(self) -> Any:
        """How windows become bytes: see `TypeSerializer`."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows follow event time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may become one, such as sessions."""

    is_merging: ClassVar[bool] = True

    class MergeCallback(ABC, Generic[W2]):
        """Told which windows to merge."""

        @abstractmethod
        def merge(self, to_be_merged: Collection[W2], merge_result: W2) -> None:
            """Have ``merge_result`` take the place of ``to_be_merged``."""

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback
    ) -> None:
        """Call ``callback.merge`` for each group of windows that become one."""


def event_time_of(assigner: WindowAssigner, timestamp: int | None) -> int:
    """The event time of an element; TimestampError without one (Flink: TimeWindow)."""
    if timestamp is None or timestamp == MIN_TIMESTAMP:
        raise TimestampError(
            f"{type(assigner).__name__} needs event time, and an element has none: call "
            "assign_timestamps_and_watermarks before key_by, or use processing-time windows"
        )
    return timestamp
