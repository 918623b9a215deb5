"""State out of Spark's store into version files."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flinkish.common.errors import IllegalStateError
from flinkish.spark.keyed.group_state import HEAD
from flinkish.spark.keyed.packing import SETTINGS_GROUP, Batches
from flinkish.spark.keyed.placement import CLOCK_SLOTS, group_at, slot_of
from flinkish.spark.map_in_arrow import map_in_arrow
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.names import VersionName
from flinkish.spark.versions.progress import Progress
from flinkish.spark.versions.state import PartitionState

__all__ = ["Target", "settings_in_store", "state_in_store", "write_files"]


def state_in_store(spark: SparkSession, checkpoint: str, operator: int) -> DataFrame:
    """The map that a `KeyGroupProcessor` keeps, as of the last batch that was committed."""
    frame = (
        spark.read.format("statestore")
        .option("path", checkpoint)
        .option("operatorId", operator)
        .option("stateVarName", "log")
        .load()
    )
    return frame.select(
        "partition_id",
        F.col("key.slot").alias("slot"),
        F.col("user_map_key.sequence").alias("sequence"),
        F.col("user_map_value.piece").alias("piece"),
        F.col("user_map_value.more").alias("more"),
    )


def settings_in_store(state: DataFrame) -> bytes | None:
    """The head of SETTINGS_GROUP; None of an operator that never ran."""
    found = state.where((F.col("slot") == slot_of(SETTINGS_GROUP)) & (F.col("sequence") == HEAD[0]))
    heads = [bytes(row.piece) for row in found.collect()]
    return heads[0] if heads else None


@dataclass(frozen=True)
class Target:
    """The version that files are to be: the state before ``version``, of so many partitions.

    ``tag`` is the time (ms) of the batch before it, ``watermark`` that of the operator, and
    ``settings`` the head of SETTINGS_GROUP.  Files of another move have another ``run``.
    """

    checkpoint: str
    uid: str
    version: int
    tag: int
    partitions: int
    watermark: int
    settings: bytes | None
    epoch: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    run: str = field(default_factory=lambda: secrets.token_hex(16))

    def open(self, partition: int, attempt: int) -> PartitionState:
        """The state of a partition, to be written."""
        name = VersionName(
            self.version,
            self.tag,
            self.epoch,
            self.run,
            self.run[:8],
            partition,
            self.partitions,
            attempt,
        )
        state = PartitionState(VersionDirectory(self.checkpoint, self.uid), name)
        state.progress = Progress(self.watermark, [self.watermark, self.watermark])
        if self.settings is not None:
            state.use(SETTINGS_GROUP).updateValue(HEAD, (self.settings, False))
        return state


def write_files(state: DataFrame, target: Target) -> int:
    """Write a file for each partition; how many pieces and heads there were."""
    columns = "partition int, values bigint"
    written = map_in_arrow(state, _writer(target), columns).collect()
    values = {row.partition: row["values"] for row in written}
    for partition in set(range(target.partitions)) - values.keys():
        target.open(partition, 0).commit(0)  # Spark has nothing of it, so no task knew of it
    return sum(values.values())


def _writer(target: Target) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow` that writes the file of the one partition that a task has."""

    def write(batches: Batches) -> Batches:
        context = TaskContext.get()
        partition, values = None, 0
        state: PartitionState | None = None
        try:
            for own, slot, sequence, piece, more in _rows(batches):
                if state is None:
                    partition = own
                    state = target.open(own, context.taskAttemptId() if context else 0)
                if own != partition:
                    raise IllegalStateError(
                        f"a task read partitions {partition} and {own} of Spark's state at once"
                    )
                if slot in CLOCK_SLOTS or slot == slot_of(SETTINGS_GROUP):
                    continue
                state.use(group_at(slot)).updateValue((sequence,), (piece, more))
                values += 1
            if state is not None:
                state.commit(0)
        except BaseException:
            if state is not None:
                state.abandon()
            raise
        if partition is not None:
            yield pa.record_batch(
                {"partition": pa.array([partition], pa.int32()), "values": [values]}
            )

    write.__name__ = f"write {target.uid}"  # in Spark's plans
    return write


def _rows(batches: Batches) -> Iterator[tuple[int, int, int, bytes, bool]]:
    for batch in batches:
        columns = [batch.column(at) for at in range(5)]
        for row in range(batch.num_rows):
            partition, slot, sequence, piece, more = (one[row].as_py() for one in columns)
            yield partition, slot, sequence, piece, more
