"""The output of a task to Spark: values, collected into batches of bounded size and age.

How values leave: the operator emits while the mailbox loop runs, and only between two runs of the
loop can the task hand a batch to Spark.  So the output asks for the loop to be suspended when a
block of values waits for its conversion, or when values have waited long enough.  Values become
columns in ``take``, outside of the operator, so that one that does not fit is nobody's fault but
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any

import pyarrow as pa

from flinkish.common.elements import StreamElement, StreamRecord
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.futures import complete, shared_future
from flinkish.common.output_tag import OutputTag
from flinkish.spark.batches import joined
from flinkish.spark.encoders import Encoder

__all__ = ["TaskOutput"]

# A batch goes to Spark when it has so many rows, or takes so much memory.
BATCH_ROWS = 8192
BATCH_BYTES = 4 * 1024 * 1024

# Or when its first value is old enough; in a task's first batch it waits for this (ms) at most.
FIRST_AGE_MS = 10

# Values are converted in blocks, and what they take is known then.
_BLOCK = 512

_ROOM: Future[None] = Future()
_ROOM.set_result(None)


class _Lane:
    """One output on its way: values, and what makes columns of them."""

    def __init__(self, encoder: Encoder) -> None:
        self.values: list[Any] = []
        self.encode = encoder.encode


class TaskOutput:
    """Collects what the operator of a task emits.

    ``encoders`` make columns of it; that of the main output is under None.  ``clock`` gives ms;
    ``call_at(ms, function)`` calls back on the task's thread; ``suspend()`` asks the mailbox loop
    to return soon.  A value waits for others for ``age_ms`` at most.

    It is not available from when a batch is due until Spark took it.

    Threading: the task's thread.
    """

    def __init__(
        self,
        encoders: Mapping[OutputTag | None, Encoder],
        clock: Callable[[], int],
        call_at: Callable[[int, Callable[[], None]], object],
        suspend: Callable[[], object],
        age_ms: int,
    ) -> None:
        self._clock = clock
        self._call_at = call_at
        self._suspend = suspend
        self._lanes = {tag: _Lane(encoder) for tag, encoder in encoders.items()}
        self._main = self._lanes[None]
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._since: int | None = None  # when the first of the waiting values came
        self._age_ms = age_ms
        self._age = min(FIRST_AGE_MS, age_ms)
        self._watched = False  # whether a call for their age is on its way
        self._asked = False  # whether the loop was asked to return
        self._due = False
        self._room: Future[None] = _ROOM

    # --- the operator's side

    def emit(self, element: StreamElement) -> None:
        """Take a record; other elements end here, for Spark has a watermark of its own."""
        if isinstance(element, StreamRecord):
            values = self._main.values
            values.append(element.value)
            if self._since is None:
                self._begin()
            if len(values) >= _BLOCK:
                self._ask()

    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None:
        """Take a record for a side output.

        IllegalArgumentError for a tag that the task was not told of.
        """
        self.emit_batch(tag, [record.value], [record.timestamp])

    def emit_batch(
        self, tag: OutputTag | None, values: list[Any], timestamps: list[int | None]
    ) -> None:
        """Take many values of one output."""
        lane = self._lanes.get(tag)
        if lane is None:
            known = ", ".join(repr(each) for each in self._lanes if each is not None) or "none"
            raise IllegalArgumentError(
                f"a value was emitted to {tag!r}, and the side outputs of the task are {known}: "
                "name it in side_outputs"
            )
        lane.values += values
        if values and self._since is None:
            self._begin()
        if len(lane.values) >= _BLOCK:
            self._ask()

    def is_available(self) -> bool:
        """Whether no batch is due."""
        return not self._due

    def get_available_future(self) -> Future[None]:
        """Done when Spark took what is due."""
        return self._room

    # --- the task's side

    def take(self, *, all_of_it: bool = False) -> Iterator[pa.RecordBatch]:
        """Batches that are due; with ``all_of_it`` whatever there is.

        It is available again when the last of them was taken.
        """
        self._asked = False
        for lane in self._lanes.values():
            values, lane.values = lane.values, []
            for start in range(0, len(values), _BLOCK):
                batch = lane.encode(values[start : start + _BLOCK])
                if batch.num_rows == 0:
                    continue
                self._waiting.append(batch)
                self._rows += batch.num_rows
                self._bytes += batch.nbytes
                if self._rows >= BATCH_ROWS or self._bytes >= BATCH_BYTES:
                    yield self._batch()
        if self._waiting and (self._due or all_of_it):
            yield self._batch()
        if not self._waiting:
            self._since = None
        self._due = False
        if not self._room.done():
            complete(self._room, None)

    def _batch(self) -> pa.RecordBatch:
        waiting, self._waiting = self._waiting, []
        self._rows = self._bytes = 0
        self._since, self._age = self._clock(), self._age_ms
        return joined(waiting)

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._suspend()

    # --- age

    def _begin(self) -> None:
        self._since = self._clock()
        self._watch()

    def _watch(self) -> None:
        if not self._watched and self._since is not None:
            self._watched = True
            self._call_at(self._since + self._age, self._look)

    def _look(self) -> None:
        """Some time has passed: is what waits old by now?"""
        self._watched = False
        if self._since is None:
            return
        if self._clock() < self._since + self._age:
            self._watch()
            return
        if not self._due:
            self._due = True
            self._room = shared_future()
        self._ask()
