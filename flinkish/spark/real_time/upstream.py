"""How many tasks read the sources of a query."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow.fs as pafs

from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.file_systems import file_system_of_spark_path
from flinkish.spark.versions.batch import Batch

__all__ = ["source_tasks"]


def source_tasks(batch: Batch) -> int:
    """As many as there are partitions of Kafka's topics, which Spark has in its checkpoint.

    Partitions that a topic got since the batch before are not counted: until their first mark they
    do not hold the watermark back.  UnsupportedOperationError for a source of another kind.
    """
    return sum(map(_partitions, _positions(batch)))


def _positions(batch: Batch) -> Iterator[str]:
    """Where each source stood before the batch."""
    file_system, checkpoint = file_system_of_spark_path(batch.checkpoint, "a checkpoint")

    def read(path: str) -> list[str]:
        with file_system.open_input_file(path) as file:
            return [line.strip("\0 ") for line in file.read().decode().splitlines()]

    if batch.number:
        yield from read(f"{checkpoint}/offsets/{batch.number - 1}")[2:]
        return
    for found in file_system.get_file_info(pafs.FileSelector(f"{checkpoint}/sources")):
        yield read(f"{found.path}/0")[-1].removeprefix("v1")


def _partitions(position: str) -> int:
    try:
        topics = json.loads(position)
        return sum(len(offsets) for offsets in topics.values())
    except (ValueError, AttributeError, TypeError) as error:
        raise UnsupportedOperationError(
            f"a source of this query stands at {position[:80]!r}, which is no position in Kafka's "
            "topics: in real-time mode Spark reads Kafka alone, so read the rows from there, or "
            "run the query with trigger(processingTime=...) in a session without real_time=True"
        ) from error
