"""Marks: how far event time has come, in band.

Each task that packs rows sends a mark to every partition of the operator, after its rows.  The mark
of rows from a source says the highest event time among them; the operator knows how far its
watermark trails that.  The mark of rows from an operator is that operator's watermark.  So all
partitions see the same marks, whichever rows they have, and move to the same watermark.

A mark between operators is a row of the phase MARK whose event time is the watermark, all other
columns null.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from flinkish._core.columns.records import timestamps_ms
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.plan import EVENT_TIME, MARK, PHASE, OperatorPlan

__all__ = ["MARK_TAG", "MarkMaker", "combined", "mark_payload", "mark_row", "moved"]

# Ids of side outputs are texts of users; none begins like this.
MARK_TAG = "\0watermark"

_MARK = struct.Struct("<qB")


class MarkMaker:
    """Makes the mark of a task that packs the rows of an input, by its number (1 or 2)."""

    def __init__(self, plan: OperatorPlan, number: int) -> None:
        self._plan = plan
        self._number = number
        self._time = MIN_TIMESTAMP
        # After a shuffle of Spark's a task may have none of the marks of the tasks before it.
        self._has_mark = not plan.marked

    def take(self, table: pa.Table) -> pa.Table:
        """The rows of a table without marks, of which it keeps the highest time."""
        plan = self._plan
        if plan.event_time is None:
            return table
        rows, times = table, table.column(plan.event_time)
        if plan.marked:
            is_mark = pc.equal(table.column(PHASE), MARK)
            rows, times = table.filter(pc.invert(is_mark)), times.filter(is_mark)
            self._has_mark = self._has_mark or len(times) > 0
        highest = pc.max(times)
        if highest.is_valid:
            (time,) = timestamps_ms(pa.array([highest.as_py()], highest.type)).tolist()
            self._time = max(self._time, time)
        return rows

    def payload(self) -> bytes | None:
        """The mark, for every partition; None if there is none to pass on."""
        return mark_payload(self._time, self._number) if self._has_mark else None


def mark_payload(time: int, number: int) -> bytes:
    """A mark of an input as bytes."""
    return _MARK.pack(time, number)


def mark_row(payload: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """A mark as a row of these columns, EVENT_TIME and PHASE."""
    time, _ = _MARK.unpack(payload)
    columns = [pa.nulls(1, field.type) for field in schema]
    return pa.record_batch(
        [*columns, pa.array([time], pa.int64()), pa.array([MARK], pa.int32())],
        schema=schema.append(pa.field(EVENT_TIME, pa.int64())).append(pa.field(PHASE, pa.int32())),
    )


def moved(plan: OperatorPlan, watermarks: Sequence[int], marks: Iterable[bytes]) -> list[int]:
    """The watermarks of the inputs after these marks; they never go back."""
    times: tuple[list[int], list[int]] = ([], [])
    for payload in marks:
        time, number = _MARK.unpack(payload)
        times[number - 1].append(time)
    found = []
    for one, before, own in zip((plan, plan.second), watermarks, times, strict=True):
        now = MIN_TIMESTAMP
        if one is not None and own and one.chained:
            now = min(own)
        elif one is not None and own and one.trails_by is not None:
            highest = max(own)
            now = highest if highest == MIN_TIMESTAMP else highest - one.trails_by - 1
        found.append(max(before, now))
    return found


def combined(plan: OperatorPlan, watermarks: Sequence[int]) -> int:
    """The watermark of an operator: the least of its inputs that have one, as in Flink."""
    inputs = zip((plan, plan.second), watermarks, strict=True)
    marked = [time for one, time in inputs if one is not None and one.is_marked]
    return min(marked, default=MIN_TIMESTAMP)
