"""Marks: how far event time has come, in band.

Each task that packs rows sends a mark to every partition of the operator, after its rows.  The mark
of rows from a source says the highest event time among them; the operator knows how far its
watermark trails that.  The mark of rows from an operator is that operator's watermark.  So all
partitions see the same marks, whichever rows they have, and move to the same watermark.

A mark among rows is a row of the phase MARK whose event time is the watermark, or the highest time
of a source, null if what is before is idle; all other columns are null but for CHANNEL.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from flinkish._core.columns.records import timestamps_ms
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.channels import CHANNEL, Mark
from flinkish.spark.keyed.plan import EVENT_TIME, MARK, PHASE, OperatorPlan
from flinkish.spark.mapped_frame import Batches, MapBatches

__all__ = [
    "MARK_TAG",
    "MarkMaker",
    "highest_times",
    "mark_payload",
    "mark_row",
    "passing_marks",
    "read_mark",
]

# Ids of side outputs are texts of users; none begins like this.
MARK_TAG = "\0watermark"

_MARK = struct.Struct("<qBqB")
_SILENT, _ACTIVE, _IDLE = range(3)


class MarkMaker:
    """Makes the marks of a task that packs the rows of an input, by its number (1 or 2)."""

    def __init__(self, plan: OperatorPlan, number: int) -> None:
        self._plan = plan
        self._number = number
        self._said: dict[int, int | None] = {}
        self._seen: dict[int, int] = {}

    def take(self, table: pa.Table) -> pa.Table:
        """The rows of a table without marks, of which it keeps the highest times."""
        plan = self._plan
        if plan.event_time is None:
            return table
        rows = table
        if plan.marked:
            is_mark = pc.equal(table.column(PHASE), MARK)
            rows = table.filter(pc.invert(is_mark))
            self._keep(table.filter(is_mark))
        if not plan.marked or plan.channelled:
            for channel, time in highest_times(rows, plan.event_time, plan.channelled).items():
                self._seen[channel] = max(self._seen.get(channel, MIN_TIMESTAMP), time)
        return rows

    def _keep(self, marks: pa.Table) -> None:
        """Keep marks that came with the rows."""
        assert self._plan.event_time is not None
        times = _millis(marks.column(self._plan.event_time))
        channels = marks.column(CHANNEL).to_pylist() if self._plan.channelled else [0] * len(marks)
        for channel, time in zip(channels, times, strict=True):
            said = [one for one in (self._said.get(channel), time) if one is not None]
            self._said[channel] = max(said, default=None)

    def marks(self) -> list[Mark]:
        """How far each channel came, that has had rows or marks."""
        return [
            Mark(time, self._number, channel)
            for channels in (self._said, self._seen)
            for channel, time in channels.items()
        ]

    def payloads(self) -> list[bytes]:
        """The marks, for every partition; none of what has to come from another task."""
        marks, plan = self.marks(), self._plan
        # After a shuffle of Spark's a task may have none of the marks of the tasks before it.
        if not marks and not plan.marked and not plan.channelled:
            marks = [Mark(MIN_TIMESTAMP, self._number, active=False)]
        return [mark_payload(mark) for mark in marks]


def highest_times(
    rows: pa.Table | pa.RecordBatch, event_time: str, channelled: bool
) -> dict[int, int]:
    """The highest event time (ms) of each channel that has rows with a time."""
    if not channelled:
        time = pc.max(rows.column(event_time))
        (latest,) = _millis(pa.chunked_array([pa.array([time.as_py()], time.type)]))
        return {} if latest is None else {0: latest}
    columns = pa.table({name: rows.column(name) for name in (CHANNEL, event_time)})
    times = columns.group_by(CHANNEL).aggregate([(event_time, "max")])
    channels = times.column(CHANNEL).to_pylist()
    latest_times = zip(channels, _millis(times.column(f"{event_time}_max")), strict=True)
    return {one: time for one, time in latest_times if one is not None and time is not None}


def _millis(times: pa.ChunkedArray) -> list[int | None]:
    if pa.types.is_integer(times.type):
        return list(times.to_pylist())
    chunks = [timestamps_ms(chunk, null_value=MIN_TIMESTAMP).tolist() for chunk in times.chunks]
    return [None if time == MIN_TIMESTAMP else time for chunk in chunks for time in chunk]


def mark_payload(mark: Mark) -> bytes:
    """A mark as bytes."""
    time = MIN_TIMESTAMP if mark.time is None else mark.time
    state = _IDLE if mark.time is None else _ACTIVE if mark.active else _SILENT
    return _MARK.pack(time, mark.number, mark.channel, state)


def read_mark(payload: bytes) -> Mark:
    """The mark of these bytes."""
    time, number, channel, state = _MARK.unpack(payload)
    return Mark(None if state == _IDLE else time, number, channel, state == _ACTIVE)


def mark_row(payload: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """A mark of an operator as a row of these columns, EVENT_TIME and PHASE."""
    columns = [pa.nulls(1, field.type) for field in schema]
    return pa.record_batch(
        [*columns, pa.array([read_mark(payload).time], pa.int64()), pa.array([MARK], pa.int32())],
        schema=schema.append(pa.field(EVENT_TIME, pa.int64())).append(pa.field(PHASE, pa.int32())),
    )


def passing_marks(function: MapBatches, columns: pa.Schema) -> MapBatches:
    """A function of rows, for such with marks among them, which come after its results.

    Results have these columns, of which the first is a struct with EVENT_TIME and PHASE.
    """
    row = columns.field(0).type

    def run(batches: Batches) -> Batches:
        times: list[int | None] = []

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                is_mark = pc.equal(batch.column(PHASE), MARK)
                times.extend(batch.filter(is_mark).column(EVENT_TIME).to_pylist())
                if not pc.all(is_mark, min_count=0).as_py():
                    yield batch.filter(pc.invert(is_mark))

        yield from function(rows())
        if times:
            marks = [{EVENT_TIME: time, PHASE: MARK} for time in times]
            others = [pa.nulls(len(times), one.type) for one in list(columns)[1:]]
            yield pa.record_batch([pa.array(marks, row), *others], schema=columns)

    run.__name__ = function.__name__  # in Spark's plans
    return run
