"""A keyed function in one process: count, delete the last timer, register the next.

Rows are (key, time) of 100,000 keys in random order, times ascending; every row costs two
reads and two writes of state, one deletion and one registration.  ``time_batch`` and
``time_elements`` do the same rows; ``track_`` gives rows a second.
"""

import time

import numpy as np

from flinkish.common import StreamRecord, Types, Watermark
from flinkish.functions import KeyedProcessFunction, RuntimeContext
from flinkish.operators import KeyedProcessOperator, OperatorEnvironment
from flinkish.state import ValueStateDescriptor
from flinkish.testing import TestProcessingTimeService

KEYS = 100_000
BATCH = 10_000
SILENCE = 3_600_000


class CountAndWatch(KeyedProcessFunction):
    """Counts the rows of a key, and wakes up when it has been silent."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        timers = ctx.timer_service()
        earlier = self.timer.value()
        if earlier is not None:
            timers.delete_event_time_timer(earlier)
        later = ctx.timestamp() + SILENCE
        timers.register_event_time_timer(later)
        self.timer.update(later)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> object:
        self.timer.clear()
        yield ctx.get_current_key(), self.count.value()


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


class KeyedOperator:
    """Rows through KeyedProcessOperator."""

    timeout = 300
    number = 1
    repeat = (3, 5, 30.0)
    params = (["int", "str"],)
    param_names = ("keys",)

    def setup(self, kind: str) -> None:
        rng = np.random.default_rng(20240917)
        order = np.concatenate([rng.permutation(KEYS) for _ in range(2)])
        self.keys = order.astype(np.int64)
        self.rows: list = order.tolist()
        if kind == "str":
            import pyarrow as pa

            self.rows = [f"device-{number:06d}" for number in self.rows]
            self.keys = pa.array(self.rows)
        self.times = np.arange(len(self.rows), dtype=np.int64)
        self.records = [StreamRecord(row, at) for at, row in enumerate(self.rows)]
        self.operator = KeyedProcessOperator(CountAndWatch())
        self.output = Nowhere()
        clock = TestProcessingTimeService()
        clock.set_current_time(0)
        self.operator.setup(
            self.output,
            OperatorEnvironment(
                key_selector=lambda row: row,
                key_type=Types.STRING() if kind == "str" else Types.LONG(),
                processing_time_service=clock,
            ),
        )
        self.operator.initialize_state()
        self.operator.open()
        self.batches(with_keys=True)  # all keys known, every row deletes a timer

    def teardown(self, kind: str) -> None:
        self.operator.close()

    def batches(self, *, with_keys: bool) -> None:
        for at in range(0, len(self.rows), BATCH):
            part = slice(at, at + BATCH)
            keys = self.keys[part] if with_keys else None
            self.operator.process_batch(self.rows[part], self.times[part], keys)

    def time_batch(self, kind: str) -> None:
        self.batches(with_keys=True)

    def time_batch_with_key_selector(self, kind: str) -> None:
        self.batches(with_keys=False)

    def time_elements(self, kind: str) -> None:
        process = self.operator.process_element
        for record in self.records:
            process(record)

    def time_fire_all(self, kind: str) -> None:
        self.operator.process_watermark(Watermark(1 << 60))

    time_fire_all.repeat = (1, 1, 1.0)  # type: ignore[attr-defined]  # the timers are gone then

    def track_rows_per_second(self, kind: str) -> float:
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            self.batches(with_keys=True)
            seconds.append(time.perf_counter() - start)
        return len(self.rows) / sorted(seconds)[2]

    track_rows_per_second.unit = "rows/s"  # type: ignore[attr-defined]
