"""The context of functions that have no keys: it tells the time and refuses timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.functions.process import CoProcessFunction, ProcessFunction
from flinkish.time.timer_service import TimerService

__all__ = ["NoTimers", "UnkeyedContext", "values_of"]


class NoTimers(TimerService):
    """Tells both times; timers are refused (Flink: ProcessOperator)."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        """The time of the clock, in ms."""
        return self._now()

    def current_watermark(self) -> int:
        """How far event time has come, in ms."""
        return self.watermark

    def _refuse(self) -> NoReturn:
        raise UnsupportedOperationError(
            "Setting timers is only supported on a keyed stream: use key_by before the function, "
            "and a KeyedProcessFunction"
        )

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Refused."""
        self._refuse()

    def register_event_time_timer(self, timestamp: int) -> None:
        """Refused."""
        self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Refused."""
        self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Refused."""
        self._refuse()


class UnkeyedContext(ProcessFunction.Context, CoProcessFunction.Context):
    """The context of a call; ``time`` is set before each."""

    def __init__(self, clocks: NoTimers) -> None:
        self._clocks = clocks
        self.time: int | None = None

    def timer_service(self) -> TimerService:
        """Both times."""
        return self._clocks

    def timestamp(self) -> int | None:
        """Event time of the value in ms, or None without one."""
        return self.time


def values_of(result: Any, method: str) -> Iterable[Any]:
    """The values that a method of a function returned, as an iterable.

    A dict that a ``flat_map`` returns is its keys, as in PyFlink.  ArgumentTypeError for a text,
    bytes, a Row and for what cannot be iterated over.
    """
    if result is None:
        return ()
    if isinstance(result, dict) and method.startswith("flat_map"):
        return result.keys()
    one_value = isinstance(result, (str, bytes, dict)) or hasattr(result, "get_row_kind")
    if one_value or not hasattr(result, "__iter__"):
        raise ArgumentTypeError(
            f"{method} returned {result!r} of type {type(result).__name__}; yield each "
            "output value, or return an iterable of them or None"
        )
    values: Iterable[Any] = result
    return values
