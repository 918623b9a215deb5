"""Streams of one type put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.spark.channels import CHANNEL, Channel
from flinkish.spark.keyed.plan import AFTER_WATERMARK, EVENT_TIME, MARK, PHASE
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.streams.options import merged_plans
from flinkish.spark.streams.rows import StreamRows

__all__ = ["united"]


def united(rows: Sequence[StreamRows]) -> StreamRows:
    """The rows of several streams.

    The watermark is the least of theirs.  ArgumentTypeError for elements of different types,
    UnsupportedOperationError and TimestampError for streams that cannot share a query or a clock.
    """
    first = rows[0]
    for other in rows[1:]:
        _check(first, other)
    if _mixed(rows) and not first.is_whole:  # what the sources say of times is of no use then
        rows = [_without_source_times(one) for one in rows]
        first = rows[0]
    mixed = _mixed(rows)
    if mixed and not first.is_whole:
        raise TimestampError(
            "some of these streams have event time and some have none: call "
            "assign_timestamps_and_watermarks on all of them, or after union"
        )
    plans = merged_plans(rows)
    names = first.columns
    if first.real_time:
        rows = _in_real_time(rows)
        first = rows[0]
    marked = any(one.marked for one in rows)
    # Rows without event time are among others as those are that an operator made of such.
    chained = mixed or any(one.chained for one in rows)
    timed = any(one.event_time is not None for one in rows)
    channelled = first.streaming and not first.is_whole and timed
    form = _Form(names, timed, chained, marked, channelled)
    frame = form.of(first, 0)
    channels = first.channels or (Channel(),)
    for other in rows[1:]:
        apart = replace(other, mapped=other.apart())
        frame = frame.union(form.of(apart, len(channels)))
        channels += other.channels or (Channel(),)
    return replace(
        first,
        mapped=MappedFrame(frame),
        columns=names,
        event_time=EVENT_TIME if timed or chained else None,
        operators=max(int(chained), *(one.operators for one in rows)),
        calls=max(one.calls for one in rows),
        watermark="; ".join(dict.fromkeys(one.watermark for one in rows if one.watermark)) or None,
        channels=channels if channelled else (),
        channelled=channelled,
        marked=marked,
        ends=False,
        partition=None,
        source_times=timed and all(one.source_times for one in rows),
        watermark_lost=any(one.watermark_lost for one in rows),
        paths={path: details for one in rows for path, details in one.paths.items()},
        plans=plans,
    )


def _in_real_time(rows: Sequence[StreamRows]) -> Sequence[StreamRows]:
    """An operator's output first, as in `TwoInputs`; UnsupportedOperationError for two of them."""
    if sum(one.chained for one in rows) > 1:
        raise UnsupportedOperationError(
            "these streams have the outputs of two keyed operators, and in real-time mode a task "
            "of Spark's reads the output of one: unite the streams before the operators, or write "
            "an output to a topic and read it in a second query"
        )
    return sorted(rows, key=lambda one: not one.chained)


def _mixed(rows: Sequence[StreamRows]) -> bool:
    return len({one.event_time is None for one in rows}) > 1


def _without_source_times(rows: StreamRows) -> StreamRows:
    given = rows.source_times and not rows.chained
    return replace(rows, event_time=None, source_times=False) if given else rows


def _check(first: StreamRows, other: StreamRows) -> None:
    types = [[field.dataType for field in one.schema] for one in (first, other)]
    if first.kind != other.kind or types[0] != types[1]:
        raise ArgumentTypeError(
            "union takes streams of one type, and these have the elements "
            f"{first.kind or first.schema.simpleString()} and "
            f"{other.kind or other.schema.simpleString()}: map one of them"
        )
    if first.kind is None and first.columns != other.columns:
        raise IllegalArgumentError(
            f"union takes Rows of the same fields, and these have {', '.join(first.columns)} and "
            f"{', '.join(other.columns)}: rename the columns of one"
        )
    if first.streaming != other.streaming:
        raise UnsupportedOperationError(
            "one of these is a streaming DataFrame and another a batch one; read all as streams, "
            "or all as batches"
        )
    versioned = {one.marked for one in (first, other) if one.chained}
    if not first.is_whole and (
        len(versioned) > 1 or (first.chained != other.chained and False in versioned)
    ):
        raise UnsupportedOperationError(
            "the outputs of keyed operators in Spark's state store have their order within a "
            "micro-batch, which rows of a source, or of an operator with another backend, do not "
            "have: unite the streams before these operators, or give all of them "
            "StateSettings(backend='versioned')"
        )


@dataclass(frozen=True)
class _Form:
    """The form in which all rows of a union come: their names, and what they have besides."""

    names: Sequence[str]
    timed: bool
    chained: bool
    marked: bool
    channelled: bool

    def of(self, rows: StreamRows, number: int) -> DataFrame:
        """Rows by these names, with time, phase and channel; ``number`` is that of the first."""
        frame = rows.frame
        named = zip(rows.columns, self.names, strict=True)
        columns = [F.col(own).alias(name) for own, name in named]
        if self.timed or self.chained:
            columns.append(self._time(rows).alias(EVENT_TIME))
        if self.chained or self.marked:
            phased = rows.chained or rows.marked
            columns.append((F.col(PHASE) if phased else F.lit(AFTER_WATERMARK)).alias(PHASE))
        if self.channelled:
            columns.append(self._channel(rows, number).alias(CHANNEL))
        return frame.select(*columns)

    def _channel(self, rows: StreamRows, number: int) -> Column:
        """The channel of a source's row or of a mark; null of rows whose marks say all."""
        if rows.channelled:
            return F.col(CHANNEL) + F.lit(number)
        own = F.lit(number).cast("bigint")
        return F.when(F.col(PHASE) == MARK, own) if rows.marked else own

    def _time(self, rows: StreamRows) -> Column:
        if rows.event_time is None:
            return F.lit(None).cast("bigint" if self.chained else "timestamp")
        time = F.col(rows.event_time)
        return F.unix_millis(time) if self.chained and not rows.chained else time
