"""What version files cost a batch and partition, as batches go by.

    bash ci/bench.sh version_files

One partition of an operator, without Spark.  The first batch fills all key groups; after it each
has rows for some of them.  With the operator its state is loaded, rows are handled, timers are set
and its file is written.  With files alone each of those key groups gets a piece of 100 bytes and a
head of 300.  The CPU time of this process is measured: the median of the batches 1 to 10, and of
the last ten.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from flinkish.common import Types
from flinkish.functions import KeyedProcessFunction
from flinkish.operators.process_definitions import ProcessDefinition
from flinkish.spark.channels import Channel
from flinkish.spark.keyed.packing import pack_table
from flinkish.spark.keyed.plan import OperatorPlan, StateSettings
from flinkish.spark.keyed.strategies import ByRows
from flinkish.spark.keyed.versioned import _Partition
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import load
from flinkish.spark.versions.purge import purge
from flinkish.spark.versions.state import PartitionState
from flinkish.state import ValueStateDescriptor

SCHEMA = pa.schema([("key", pa.string()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
OUT = pa.schema([("key", pa.string()), ("n", pa.int64())])
BATCHES = 160
SOME = 10  # batches of which the median is taken
PIECE, HEAD = random.Random(1).randbytes(100), random.Random(2).randbytes(300)


class Counts(KeyedProcessFunction):
    """Counts elements, with a timer each that is not due."""

    def open(self, context: Any) -> None:
        self.n = context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        self.n.update((self.n.value() or 0) + 1)
        context.timer_service().register_event_time_timer(context.timestamp() + 10**9)
        yield value.key, self.n.value()


def plan_of(root: Path, groups: int) -> OperatorPlan:
    """The operator, over one partition."""
    return OperatorPlan(
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
        definition="d" * 32,
    )


def packed_by_group(plan: OperatorPlan) -> dict[int, list[Any]]:
    """Some ten rows, each of a key of its own, for every key group."""
    keys = [f"k{number}" for number in range(10 * plan.max_parallelism)]
    times = pa.array(range(len(keys)), pa.timestamp("us", "UTC"))
    rows = pa.table([pa.array(keys), pa.array(range(len(keys))), times], schema=SCHEMA)
    packed: dict[int, list[Any]] = defaultdict(list)
    for group, payload in pack_table(plan, rows):
        packed[group].append((1, 0, 0, payload))
    return packed


def append(state: PartitionState, groups: Iterable[int], number: int) -> None:
    """A piece and a head for each of these key groups."""
    for group in groups:
        log = state.use(group)
        log.updateValue((number,), (PIECE, False))
        log.updateValue((-1,), (HEAD, False))


def measure(root: Path, groups: int, touched: int, *, operator: bool) -> list[float]:
    """CPU time (ms) of each batch."""
    plan = plan_of(root, groups)
    packed = packed_by_group(plan)
    directory = VersionDirectory(str(root), plan.uid)
    chance = random.Random(0)
    taken = []
    for number in range(BATCHES + 1):
        some = list(packed) if number == 0 else chance.sample(sorted(packed), touched)
        batch = Batch(str(root), "ab", number, number, number - 1 if number else None, 0, 0, 100)
        start = time.process_time()
        state = load(directory, batch, 1, 0, plan.uid, plan.definition[:8])
        if operator:
            payloads = {group: packed[group] for group in some}
            for _ in _Partition(plan, batch, state).process(payloads, []):
                pass
        else:
            append(state, some, number)
        state.commit(number - batch.retained)
        purge(directory, batch, 1)
        taken.append((time.process_time() - start) * 1000)
    return taken


def main(counts: list[int]) -> None:
    for groups in counts or [128, 2000]:
        for touched, operator in ((1, True), (16, True), (16, False), (groups, False)):
            with tempfile.TemporaryDirectory(prefix="flinkish-bench-") as folder:
                taken = measure(Path(folder), groups, touched, operator=operator)
                last = max((Path(folder) / "flinkish" / "operator").iterdir())
                size = sum(path.stat().st_size for path in last.iterdir())
            first, later = taken[1 : SOME + 1], taken[-SOME:]
            print(
                f"{groups:>5,} key groups, {touched:>5,} with rows, "
                f"{'the operator' if operator else 'files alone '}: "
                f"{statistics.median(first):6.1f} ms, after {BATCHES} batches "
                f"{statistics.median(later):6.1f} ms; the last file has {size:>9,} bytes",
                flush=True,
            )


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
