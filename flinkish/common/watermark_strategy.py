"""Where event time comes from: timestamps of records, and watermarks made of them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.pyflink_names import pyflink_names
from flinkish.common.timestamps import MIN_TIMESTAMP, check_timestamp

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = [
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkStrategy",
]


class TimestampAssigner(ABC):
    """Gives elements their event time."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Event time of ``value`` in milliseconds since the epoch.

        ``record_timestamp`` is the time that the element had so far, the least 64-bit integer
        if it had none.
        """


class WatermarkGenerator:
    """The watermark of bounded out-of-orderness: the latest event, less the bound, less 1 ms.

    The last millisecond is Flink's: a watermark of t says that no element with a timestamp of
    t or less follows, and one as late as the bound may still do so.  Before the first event
    the watermark is ``MIN_TIMESTAMP``.
    """

    __slots__ = ("_bound", "_latest")

    def __init__(self, max_out_of_orderness: DurationLike = 0) -> None:
        self._bound = to_millis(max_out_of_orderness, "max_out_of_orderness", minimum=0)
        self._latest = MIN_TIMESTAMP + self._bound + 1

    def on_event(self, timestamp: int) -> None:
        """An event with this time (ms) was seen."""
        self._latest = max(self._latest, check_timestamp(timestamp))

    def current_watermark(self) -> int:
        """The watermark (ms) after the events so far."""
        return self._latest - self._bound - 1


@dataclass(frozen=True)
class WatermarkAlignment:
    """The arguments of ``with_watermark_alignment``, in milliseconds."""

    watermark_group: str
    max_allowed_watermark_drift_ms: int
    update_interval_ms: int


@dataclass(eq=False)
class WatermarkStrategy:
    """How watermarks follow the data.  Made by the ``for_…`` methods, completed by ``with_…``.

    ``max_out_of_orderness_ms`` is the bound, None for no watermarks at all;
    ``timestamp_assigner`` gives the timestamps, None where a column does;
    ``idleness_ms`` and ``alignment`` are what was asked for, None where nothing was.
    """

    max_out_of_orderness_ms: int | None
    timestamp_assigner: TimestampAssigner | None = None
    idleness_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: DurationLike) -> WatermarkStrategy:
        """Events may come up to this much later than events with a higher timestamp."""
        bound = to_millis(max_out_of_orderness, "max_out_of_orderness", minimum=0)
        return WatermarkStrategy(bound)

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Timestamps never go down: a bound of zero."""
        return WatermarkStrategy(0)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Event time never moves; for jobs that know processing time only."""
        return WatermarkStrategy(None)

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        """Take timestamps from ``timestamp_assigner``.

        Changes this strategy and returns it, as PyFlink does.  ArgumentTypeError for an object
        without ``extract_timestamp``.
        """
        if not callable(getattr(timestamp_assigner, "extract_timestamp", None)):
            raise ArgumentTypeError(
                "timestamp_assigner must be a TimestampAssigner, with a method "
                f"extract_timestamp(value, record_timestamp), not {timestamp_assigner!r}"
            )
        self.timestamp_assigner = timestamp_assigner
        return self

    def with_idleness(self, idle_timeout: DurationLike) -> WatermarkStrategy:
        """A strategy under which an input without data for so long no longer holds time back.

        It counts where an input has several watermarks: those of the partitions of a source, or of
        streams that were united, over state versioned by batch, as in programs.  Time is that of
        micro-batches.  Spark's own watermark comes from the latest event of all partitions, so an
        idle one never holds it back; between several sources Spark's option
        ``spark.sql.streaming.multipleWatermarkPolicy`` decides.
        """
        return replace(self, idleness_ms=to_millis(idle_timeout, "idle_timeout", minimum=1))

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: DurationLike,
        update_interval: DurationLike | None = None,
    ) -> WatermarkStrategy:
        """A strategy that asks fast sources to wait for slow ones.

        Flink pauses such sources, which bounds the state kept for events that are ahead and
        changes no result.  Spark reads every source batch by batch and cannot pause one, so the
        wish is recorded in ``alignment`` and has no effect; a ``UserWarning`` says so.  Limit
        the sources themselves (``maxOffsetsPerTrigger``, ``maxFilesPerTrigger``).
        """
        if not isinstance(watermark_group, str) or not watermark_group:
            raise IllegalArgumentError(
                f"watermark_group must be a name that is not empty, not {watermark_group!r}"
            )
        drift = to_millis(max_allowed_watermark_drift, "max_allowed_watermark_drift", minimum=1)
        interval = to_millis(
            1_000 if update_interval is None else update_interval, "update_interval", minimum=1
        )
        warnings.warn(
            f"watermark alignment (group {watermark_group!r}) has no effect on Spark, which "
            "cannot pause a source; limit the rate of the sources instead",
            UserWarning,
            stacklevel=2,
        )
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift, interval))

    def create_watermark_generator(self) -> WatermarkGenerator:
        """A generator for one stream.  UnsupportedOperationError for ``no_watermarks``."""
        if self.max_out_of_orderness_ms is None:
            raise UnsupportedOperationError(
                "WatermarkStrategy.no_watermarks() makes no watermarks, so it has no generator"
            )
        return WatermarkGenerator(self.max_out_of_orderness_ms)
