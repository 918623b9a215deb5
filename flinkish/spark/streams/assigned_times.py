"""Event times and watermarks that users assign to the rows of sources."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.notes import add_note, shortened, spell_out_notes
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from flinkish.spark.channels import CHANNEL, NUMBER_BITS, Channel
from flinkish.spark.elements import ElementReader
from flinkish.spark.keyed.plan import AFTER_WATERMARK, EVENT_TIME, PHASE
from flinkish.spark.mapped_frame import Batches, MapBatches, MappedFrame
from flinkish.spark.pickling import check_picklable
from flinkish.spark.real_time.prompt import in_time
from flinkish.spark.schemas import column_name, event_time_column
from flinkish.spark.streams.rows import StreamRows

__all__ = ["with_event_time"]

_KNOWN = "__flinkish_known_time"


def with_event_time(
    rows: StreamRows,
    strategy: WatermarkStrategy,
    column: str | None,
    partition: str | None,
    name: str,
) -> StreamRows:
    """The rows with event time, as `DataStream.assign_timestamps_and_watermarks` describes it.

    ``name`` is that of the operator in messages.
    """
    assigner, bound = strategy.timestamp_assigner, strategy.max_out_of_orderness_ms
    if rows.chained and not rows.is_whole:
        raise UnsupportedOperationError(
            "the output of an operator has event time already: that of the element or timer "
            "it was made for, as in Flink; Spark allows no second watermark in a query"
        )
    known = None if rows.event_time is None else _known_times(rows)
    if column is not None and assigner is not None:
        raise IllegalArgumentError(
            "event time comes from a timestamp column or from the strategy's timestamp "
            "assigner; give one of them: column='ts', or with_timestamp_assigner(...)"
        )
    if column is None and assigner is None and known is None:
        if bound is None:  # no_watermarks(): there is nothing to keep
            return rows
        raise IllegalArgumentError(
            "the elements of this stream have no timestamps, and neither a column nor the strategy "
            "says any: give column='ts', or a strategy with_timestamp_assigner(...)"
        )
    if partition is not None:
        partition = column_name(rows.in_columns(), partition)
    partition = partition or rows.partition
    moves = bound is not None and rows.streaming and not rows.is_whole
    # In real-time mode each partition of a topic is a task, and each task a channel.
    channelled = partition is not None and moves and not rows.real_time
    mapped = MappedFrame(rows.without_marks()) if rows.marked else rows.mapped
    if channelled:
        hashed = F.xxhash64(F.col(str(partition)))
        mapped = _with_column(mapped, CHANNEL, F.shiftleft(hashed, NUMBER_BITS))
    if assigner is not None:
        check_picklable(assigner, "the timestamp assigner")
        kept = [*rows.schema, *([StructField(CHANNEL, LongType())] if channelled else [])]
        names = [one.name for one in kept]
        if known is not None:
            mapped = _with_column(mapped, _KNOWN, known)
        assign = _with_timestamps(assigner, names, rows.reader(), name)
        mapped = mapped.map(assign, StructType([*kept, StructField(EVENT_TIME, TimestampType())]))
        column = EVENT_TIME
    elif column is None:
        assert known is not None
        mapped = _with_column(mapped, EVENT_TIME, F.timestamp_millis(known))
        column = EVENT_TIME
    frame = in_time(mapped).frame
    column = event_time_column(frame, column)
    if bound is not None and frame.isStreaming:
        frame = frame.withWatermark(column, f"{bound} milliseconds")
    if rows.chained:  # as the outputs of operators have it
        time = F.unix_millis(F.col(column).cast("timestamp")).alias(EVENT_TIME)
        phase = F.lit(AFTER_WATERMARK).alias(PHASE)
        frame, column = frame.select(*rows.columns, time, phase), EVENT_TIME
    channel = Channel(bound, strategy.idleness_ms, rows.ends)
    return replace(
        rows,
        mapped=MappedFrame(frame),
        event_time=column,
        watermark=None if bound is None else f"trails the latest row by {bound} ms",
        channels=(channel,) if channel.moves else (),
        channelled=channelled,
        marked=False,
        source_times=False,
    )


def _with_column(rows: MappedFrame, name: str, column: Column) -> MappedFrame:
    """The same rows with one more column."""
    return MappedFrame(in_time(rows).frame.withColumn(name, column))


def _known_times(rows: StreamRows) -> Column:
    """The times (ms) that elements have so far."""
    time = F.col(str(rows.event_time))
    return time if rows.chained else F.unix_millis(time.cast("timestamp"))


def _with_timestamps(
    assigner: TimestampAssigner,
    columns: Sequence[str],
    read: Callable[[pa.RecordBatch], ElementReader],
    name: str,
) -> MapBatches:
    """The function for `mapInArrow` that adds EVENT_TIME to ``columns``.

    The assigner says it in ms of each element that ``read`` makes, with the time that it has so
    far, from _KNOWN if there is such a column.
    """
    called = type(assigner).__name__

    def assign(batches: Batches) -> Batches:
        extract = assigner.extract_timestamp
        for batch in batches:
            values, times = read(batch).elements(), array("q")
            add = times.append
            known: Iterable[int] = repeat(MIN_TIMESTAMP)
            if _KNOWN in batch.schema.names:
                known = batch.column(_KNOWN).fill_null(MIN_TIMESTAMP).to_pylist()
            try:
                for value, time in zip(values, known, strict=False):
                    add(extract(value, time))
            except Exception as error:
                add_note(
                    error,
                    f"raised in operator {name!r} ({called}.extract_timestamp), for the element "
                    f"{shortened(values[len(times)])}",
                )
                spell_out_notes(error)
                raise
            millis = pa.array(np.frombuffer(times, np.int64)).cast(pa.timestamp("ms", "UTC"))
            stamped = millis.cast(pa.timestamp("us", "UTC"))
            yield batch.select(list(columns)).append_column(EVENT_TIME, stamped)

    return assign
