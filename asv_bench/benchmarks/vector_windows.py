"""Windows of built-in aggregates from whole columns, in one process.

Batches of a million rows of 10,000 keys, times out of order by up to 2 s, a count and a sum of
ints; after each batch the watermark follows.  The first batches fill the windows.  A batch lasts as
many seconds of event time as its parameter says: with 10, a key has 10 rows a second, and sliding
windows give a row for each 10 that come.  ``track_`` gives rows a second; the twin ``time_rows`` is
the window operator with a trigger, element by element, for 20,000 rows.
"""

import statistics
import time

import numpy as np
import pyarrow as pa

from flinkish.common import StreamRecord, Watermark
from flinkish.functions.aggregates import BuiltInAggregates, Count, Sum
from flinkish.operators import OperatorEnvironment, WindowOperatorBuilder
from flinkish.operators.vector_operator import VectorWindowOperator
from flinkish.windowing import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

KEYS = 10_000
BATCH = 1_000_000
LATEST = 2_000  # ms
BASE = 1_700_000_000_000
SCHEMA = pa.schema([("key", pa.int64()), ("amount", pa.int64())])
WINDOWS = {
    "tumbling 10 s": TumblingEventTimeWindows.of(10_000),
    "sliding 60 s / 1 s": SlidingEventTimeWindows.of(60_000, 1_000),
    "cumulative 60 s / 1 s": CumulativeEventTimeWindows.of(60_000, 1_000),
    "session 5 s": EventTimeSessionWindows.with_gap(5_000),
}


class Nowhere:
    """An output that counts."""

    def __init__(self) -> None:
        self.count = 0

    def emit(self, element: object) -> None:
        self.count += 1

    def emit_side(self, tag: object, record: object) -> None:
        self.count += 1

    def emit_batch(self, tag: object, values: list, timestamps: list) -> None:
        self.count += len(values)

    def emit_columns(self, tag: object, batch: pa.RecordBatch, timestamps: np.ndarray) -> None:
        self.count += batch.num_rows


class FromColumns:
    """The vectorised operator."""

    params = (list(WINDOWS), [1, 10])
    param_names = ("windows", "seconds a batch")
    timeout = 300
    rounds = 8

    def setup(self, windows: str, seconds: int) -> None:
        random = np.random.default_rng(7)
        rows = [random.integers(0, KEYS, BATCH), random.integers(0, 1000, BATCH)]
        self.batch = pa.record_batch([pa.array(column) for column in rows], schema=SCHEMA)
        times = np.sort(random.integers(0, seconds * 1000, BATCH))
        self.times = BASE + times - random.integers(0, LATEST, BATCH)
        self.operator = VectorWindowOperator(
            WINDOWS[windows], [Count(), Sum("amount")], SCHEMA, "key"
        )
        self.operator.setup(Nowhere(), OperatorEnvironment(max_parallelism=128))
        self.operator.initialize_state()
        self.operator.open()
        self.step = seconds * 1000
        self.now = 0
        while self.now < 80_000:
            self.run_batch()

    def teardown(self, windows: str, seconds: int) -> None:
        self.operator.close()

    def run_batch(self) -> None:
        """A batch and its watermark."""
        self.operator.process_batch(self.batch, self.times + self.now)
        self.now += self.step
        self.operator.process_watermark(Watermark(BASE + self.now - LATEST - 1))

    def time_batch(self, windows: str, seconds: int) -> None:
        """A million rows, and what they fire."""
        self.run_batch()

    def track_rows_per_second(self, windows: str, seconds: int) -> float:
        """Of single batches, the median."""
        took = []
        for _ in range(self.rounds):
            before = time.perf_counter()
            self.run_batch()
            took.append(time.perf_counter() - before)
        return BATCH / statistics.median(took)

    track_rows_per_second.unit = "rows/s"


class RowByRow:
    """The window operator over the same rows, one after another."""

    params = (["tumbling 10 s", "sliding 60 s / 1 s", "session 5 s"],)
    param_names = ("windows",)
    rows = 20_000

    def setup(self, windows: str) -> None:
        random = np.random.default_rng(7)
        keys = random.integers(0, KEYS, self.rows).tolist()
        times = BASE + np.sort(random.integers(0, 200, self.rows))
        self.records = [
            StreamRecord({"key": key, "amount": key % 1000}, at)
            for key, at in zip(keys, times.tolist(), strict=True)
        ]
        self.operator = WindowOperatorBuilder(WINDOWS[windows]).aggregate(
            BuiltInAggregates([Count(), Sum("amount")])
        )
        environment = OperatorEnvironment(key_selector=lambda row: row["key"])
        self.operator.setup(Nowhere(), environment)
        self.operator.initialize_state()
        self.operator.open()

    def teardown(self, windows: str) -> None:
        self.operator.close()

    def time_rows(self, windows: str) -> None:
        """20,000 rows."""
        for record in self.records:
            self.operator.process_element(record)
