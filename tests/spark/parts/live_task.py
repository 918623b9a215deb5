"""Real-time tasks of tests, and what they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pyarrow as pa

from flinkish.common import Types
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.functions import KeyedProcessFunction
from flinkish.spark.channels import NUMBER_BITS, Channel, Mark
from flinkish.spark.keyed.ends import BATCH_TIME
from flinkish.spark.keyed.marks import mark_payload
from flinkish.spark.keyed.output_rows import OutputReader, Reader
from flinkish.spark.keyed.packing import packed_rows
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import MAIN, MARK, PHASE, OperatorPlan
from flinkish.spark.real_time.arrivals import PAD
from flinkish.spark.real_time.partition_rows import pack_partitions
from flinkish.spark.real_time.received import TASKS
from flinkish.spark.real_time.run import real_time_runner
from flinkish.state import ValueStateDescriptor
from tests.spark.fake_spark import SCHEMA, plan

OUT = pa.schema([("key", pa.string()), ("kind", pa.string()), ("n", pa.int64())])
RUN = "aa"


class Counts(KeyedProcessFunction):
    """Counts elements; a timer a second after each on event time, 30 ms later on the clock."""

    def open(self, context: Any) -> None:
        self.n = context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        self.n.update((self.n.value() or 0) + 1)
        timers = context.timer_service()
        timers.register_event_time_timer(context.timestamp() + 1000)
        if value.n < 0:
            timers.register_processing_time_timer(timers.current_processing_time() + 30)
        yield value.key, "row", self.n.value()

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        yield context.get_current_key(), "timer", timestamp if timestamp < 10**9 else 0


def operator(folder: Path, **changes: Any) -> OperatorPlan:
    fields = {
        "partitions": 1,
        "channels": (Channel(0),),
        "streaming": True,
        "processing_time": True,
        "real_time": True,
        "definition": "d" * 32,
    }
    return plan(Counts(), OUT, folder / "tables", **(fields | changes))


def rows(*elements: tuple[str, int, int]) -> pa.RecordBatch:
    keys, numbers, times = zip(*elements, strict=True)
    stamps = pa.array([ms * 1000 for ms in times], pa.timestamp("us", "UTC"))
    return pa.record_batch([pa.array(keys), pa.array(numbers), stamps], schema=SCHEMA)


def hello(part: int) -> Mark:
    return Mark(MIN_TIMESTAMP, 1, part + 1 << NUMBER_BITS, active=False)


def mark(part: int, time: int) -> Mark:
    return Mark(time, 1, part + 1 << NUMBER_BITS)


def numbered(task: int, tasks: int = 3) -> int:
    """The column TASK of rows, as Java code makes it; -1 less this in marks."""
    return tasks << 32 | task


def padded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows as they come to a worker: after the end of a push, and with the next one."""
    columns = [
        pa.concat_arrays([pa.nulls(1, one.type), one, pa.nulls(1, one.type)])
        for one in batch.columns
    ]
    pads = pa.array([b"", *[None] * batch.num_rows, b"pad"], pa.binary())
    return pa.RecordBatch.from_arrays([*columns, pads], [*batch.schema.names, PAD])


MAIN_OUTPUT = OutputReader(MAIN, OUT, marks=True)


def packed(made: OperatorPlan, *rows: Mark | pa.RecordBatch) -> list[Any]:
    """Marks and rows as they are packed for a task."""
    found: list[Any] = []
    for one in rows:
        if isinstance(one, Mark):
            found.append((slot_of(0), MARK, 0, 0, mark_payload(one)))
        else:
            for place, payload in pack_partitions(made, pa.Table.from_batches([one])):
                found.append((slot_of(place), 1, 0, 0, payload))
    return found


def sent(rows: list[Any], tag: int = 10, tasks: int | None = 2) -> pa.RecordBatch:
    """Packed rows as they come to a task, from so many."""
    batch = packed_rows(rows)
    batch = batch.append_column(TASKS, pa.array([tasks] * len(rows), pa.int32()))
    return padded(batch.append_column(BATCH_TIME, pa.array([tag] * len(rows), pa.int64())))


class Live:
    """A task of an operator, whose input comes as the test says, from so many tasks."""

    def __init__(
        self,
        made: OperatorPlan,
        tag: int = 10,
        reader: Reader | None = None,
        *,
        tasks: int | None = 2,
    ) -> None:
        self._tasks = tasks
        self._plan = made
        self._tag = tag
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._output = real_time_runner(made, reader or MAIN_OUTPUT)(iter(self._queue.get, None))
        self._rows: list[tuple[Any, ...]] = []

    def send(self, *rows: Mark | pa.RecordBatch) -> None:
        """Send marks and rows, all of them for one turn of the task at least."""
        self._queue.put(sent(packed(self._plan, *rows), self._tag, self._tasks))

    def next(self) -> list[tuple[Any, ...]]:
        """The next row that comes out; marks are ("mark", time)."""
        while not self._rows:
            self._rows = [
                ("mark", row["__flinkish_time"])
                if row[PHASE] == MARK
                else (row["key"], row["kind"], row["n"])
                for row in next(self._output).to_pylist()
            ]
        return [self._rows.pop(0)]

    def batches(self) -> list[dict[str, Any]]:
        """All rows that come out until the end of the input."""
        self._queue.put(None)
        return [row for batch in self._output for row in batch.to_pylist()]

    def end(self) -> list[tuple[Any, ...]]:
        """The rest, after the input has ended."""
        self._queue.put(None)
        found = []
        while True:
            try:
                found += self.next()
            except StopIteration:
                return found
