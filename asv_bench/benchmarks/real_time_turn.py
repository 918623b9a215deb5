"""A turn of the tasks of an operator in real-time mode: few rows of many key groups.

`time_pack` is what the task does that packs them, `time_run` what the operator's does, and
`time_run_rows` what it does with rows that come as they are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import timezone
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from flinkish.common import Types
from flinkish.functions import KeyedProcessFunction
from flinkish.operators.process_definitions import ProcessDefinition
from flinkish.spark.channels import Channel
from flinkish.spark.keyed.output_rows import OutputReader
from flinkish.spark.keyed.packing import packed_rows
from flinkish.spark.keyed.plan import MAIN, OperatorPlan, StateSettings
from flinkish.spark.keyed.strategies import ByRows
from flinkish.spark.real_time.arrivals import PAD
from flinkish.spark.real_time.outputs import Gathered
from flinkish.spark.real_time.packing import _PackTask
from flinkish.spark.real_time.partition_rows import pack_partitions
from flinkish.spark.real_time.partitioned import HIGHEST, TASK
from flinkish.spark.real_time.received import TASKS
from flinkish.spark.real_time.run import BATCH_TIME, _Task
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import load
from flinkish.state import ValueStateDescriptor

SCHEMA = pa.schema([("key", pa.string()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
OUT = pa.schema([("key", pa.string()), ("n", pa.int64())])
TIME = 10  # of the batch
ONE_TASK = 1 << 32  # rows of the first of one task
KEYS = 1000


class Counts(KeyedProcessFunction):
    """Counts elements, with a timer each."""

    def open(self, context: Any) -> None:
        self.n = context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        self.n.update((self.n.value() or 0) + 1)
        context.timer_service().register_event_time_timer(context.timestamp() + 1_000_000)
        yield value.key, self.n.value()


class RealTimeTurn:
    """``rows`` rows of ``groups`` key groups in one partition."""

    params: ClassVar = [[1, 8, 16], [16, 1000]]
    param_names: ClassVar = ["groups", "rows"]

    def setup(self, groups: int, rows: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="flinkish-bench-")
        root = Path(self._folder.name)
        plan = OperatorPlan(
            uid="operator",
            operator=ProcessDefinition(Counts()),
            strategy=ByRows(),
            schema=SCHEMA,
            key_columns=("key",),
            key_types=(None,),
            key_selector=None,
            max_parallelism=groups,
            output=OUT,
            output_type=None,
            event_time="ts",
            chained=False,
            time_zone=timezone.utc,
            state=StateSettings(table_dir=str(root / "tables")),
            partitions=1,
            channels=(Channel(0),),
            streaming=True,
            real_time=True,
            definition="d" * 32,
        )
        batch = Batch(str(root), "run", 0, TIME, None, 0, 0, 100)
        state = load(VersionDirectory(str(root), plan.uid), batch, 1, 0, plan.uid, "d" * 8)
        self._task = _Task(plan, batch, state, Gathered(OutputReader(MAIN, OUT, marks=True)))
        self._pack = _PackTask(plan, 1, 0)
        list(self._task.handle([self._sent(packed_rows(self._pack.hello()))]))
        keys = [f"k{n % KEYS}" for n in range(rows)]
        times = pa.array(range(rows), pa.timestamp("us", "UTC"))
        self._rows = pa.table([pa.array(keys), pa.array(range(rows)), times], schema=SCHEMA)
        self._packed = self._sent(packed_rows(self._pack.pack(pack_partitions, self._rows)))
        list(self._task.handle([self._packed]))
        self._travelled = self._sent(
            self._rows.to_batches()[0]
            .append_column(TASK, pa.array([ONE_TASK] * rows, pa.int64()))
            .append_column(HIGHEST, pa.array([0] * rows, pa.int64()))
        )
        list(self._task.handle([self._travelled]))

    def teardown(self, groups: int, rows: int) -> None:
        self._task.abandon(RuntimeError("the benchmark has ended"))
        self._folder.cleanup()

    @staticmethod
    def _sent(rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as they come to a worker."""
        times = pa.array([TIME] * rows.num_rows, pa.int64())
        stamped = rows.append_column(BATCH_TIME, times)
        if "slot" in rows.schema.names:
            stamped = stamped.append_column(TASKS, pa.array([1] * rows.num_rows, pa.int32()))
        return stamped.append_column(PAD, pa.nulls(rows.num_rows, pa.binary()))

    def time_pack(self, groups: int, rows: int) -> None:
        packed_rows(self._pack.pack(pack_partitions, self._rows))

    def time_run(self, groups: int, rows: int) -> None:
        for _ in self._task.handle([self._packed]):
            pass

    def time_run_rows(self, groups: int, rows: int) -> None:
        for _ in self._task.handle([self._travelled]):
            pass
