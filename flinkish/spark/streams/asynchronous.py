"""Asynchronous calls for the rows of a stream, under PyFlink's name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flinkish.common.durations import DurationLike
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.functions import AsyncRetryStrategy
from flinkish.spark.calls.build import call_rows, name_of
from flinkish.spark.calls.maker import MakeOperator
from flinkish.spark.calls.stamps import Stamped
from flinkish.spark.channels import CHANNEL
from flinkish.spark.keyed.plan import AFTER_WATERMARK, EVENT_TIME, MARK, PHASE
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.streams.data_stream import DataStream
from flinkish.spark.streams.rows import Output, StreamRows
from flinkish.spark.tasks.run_task import Schema

__all__ = ["AsyncDataStream"]

_OWN = (EVENT_TIME, PHASE, CHANNEL)


class AsyncDataStream:
    """PyFlink's way to say ``async_map``; results keep the event time of their rows.

    ``async_function`` and the other parameters are those of ``async_map``; ``output_type`` are the
    columns of the results, as DDL, a StructType or type information.  A row that fails, fails the
    task.

    In "unordered" mode results of a micro-batch come in any order, since Spark's watermark moves
    between micro-batches.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: Schema | None = None,
    ) -> DataStream:
        """Results as they come."""
        return _wait(data_stream, async_function, timeout, capacity, output_type, "unordered", None)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: Schema | None = None,
    ) -> DataStream:
        """Results as they come, of several attempts if need be."""
        retry = _strategy(async_retry_strategy)
        return _wait(
            data_stream, async_function, timeout, capacity, output_type, "unordered", retry
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: Schema | None = None,
    ) -> DataStream:
        """Results in the order of the rows of a partition."""
        return _wait(data_stream, async_function, timeout, capacity, output_type, "ordered", None)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: Any,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: Schema | None = None,
    ) -> DataStream:
        """Results in the order of the rows of a partition, of several attempts if need be."""
        retry = _strategy(async_retry_strategy)
        return _wait(data_stream, async_function, timeout, capacity, output_type, "ordered", retry)


def _strategy(given: Any) -> AsyncRetryStrategy:
    if not isinstance(given, AsyncRetryStrategy):
        raise ArgumentTypeError(
            "async_retry_strategy must be an AsyncRetryStrategy, such as "
            f"AsyncRetryStrategy.fixed_delay(3, 100), not {given!r}"
        )
    return given


def _wait(
    stream: DataStream,
    function: Any,
    timeout: DurationLike,
    capacity: int,
    output_type: Schema | None,
    mode: Any,
    retry: AsyncRetryStrategy | None,
) -> DataStream:
    if not isinstance(stream, DataStream):
        raise ArgumentTypeError(
            f"data_stream must be a DataStream, not {stream!r}: DataStream(df) makes one"
        )
    rows = stream._rows
    through = rows.marked and rows.chained and rows.within is None
    if through and rows.channelled:
        raise UnsupportedOperationError(
            "calls after a union of operators whose state is versioned by batch would lose their "
            "watermarks: make the calls before union, on each of the streams"
        )
    stamped = None
    if rows.event_time is not None:
        stamped = Stamped(rows.event_time, chained=rows.chained)
    number = rows.calls + 1
    name = stream._uid or f"{name_of(function)}-{rows.operators}.{number}"
    fields = None if rows.within is None else rows.within.fields_of(name)
    make = MakeOperator(function, mode, capacity, timeout, retry, None, fields=fields)
    output = Output.of(output_type, f"the output schema of {name_of(function)!r}")
    frame = call_rows(
        rows.frame if through else rows.without_marks(),
        make,
        name,
        output.kind or output.schema,
        rows=rows.columns,
        input_type=rows.kind,
        stamped=stamped,
        marked=through,
        job=rows.job,
    ).to_df()
    # Of a micro-batch; no result is later than the marks that are packed after all.
    passes = rows.within is not None and (rows.channelled or (rows.marked and rows.chained))
    if passes:
        frame = (
            frame.union(_marks(rows, frame)) if not rows.channelled else _channelled(rows, frame)
        )
    return DataStream._of(
        replace(
            rows,
            mapped=MappedFrame(frame),
            kind=output.kind,
            columns=tuple(name for name in frame.columns if name not in _OWN),
            event_time=None if stamped is None else EVENT_TIME,
            calls=number,
            marked=passes or through,
            channels=() if rows.channelled and not passes else rows.channels,
            channelled=rows.channelled and passes,
            partition=None,
        )
    )


def _channelled(rows: StreamRows, results: DataFrame) -> DataFrame:
    """Results with phase and channel, and the marks of all channels of the rows."""
    phase = F.col(PHASE) if rows.chained else F.lit(AFTER_WATERMARK)
    none = F.lit(None).cast("bigint")
    results = results.withColumn(PHASE, phase).withColumn(CHANNEL, none)
    time = F.max(str(rows.event_time)).alias(EVENT_TIME)
    found = rows.without_marks().where(F.col(CHANNEL).isNotNull()).groupBy(CHANNEL).agg(time)
    marks = found.withColumn(PHASE, F.lit(MARK))
    if rows.marked:
        marks = marks.unionByName(_marks(rows, marks))
    return results.unionByName(marks, allowMissingColumns=True)


def _marks(rows: StreamRows, like: DataFrame) -> DataFrame:
    """The marks of the watermark among rows, in columns like those of a DataFrame."""
    marks = rows.apart().frame.where(F.col(PHASE) == MARK)
    return marks.select(
        *(
            (F.col(one.name) if one.name in _OWN else F.lit(None))
            .cast(one.dataType)
            .alias(one.name)
            for one in like.schema
        )
    )
