"""The directories of file sinks: one for each sink and round, complete or invisible.

A round writes into ``.inprogress`` below the base path, which readers of files ignore.  Once Spark
has committed the micro-batch, the directory is renamed to its place in the base path, as Flink's
FileSink does with part files when a checkpoint is complete.  So files that readers see never
change, and a batch that is run again is seen once.

A directory's name has the job, the sink, the round, the path of the checkpoint, and the run of the
job.  No two sinks share a directory, nor do two jobs that go on from copies of one checkpoint.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from flinkish.spark.internals import FilesOfSpark

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter, SparkSession

__all__ = ["PartFiles", "part_name"]

_IN_PROGRESS = ".inprogress"
_ID = "[0-9a-f]{8}"
_NAME = re.compile(
    rf".*-(?P<job>{_ID})-{_ID}-(?P<number>\d{{8,}})-(?P<checkpoint>{_ID})-(?P<run>{_ID})", re.DOTALL
)


def part_name(prefix: str, *ids: str | int) -> str:
    """The name of a directory; texts are hashed to eight digits."""
    parts = [f"{one:08d}" if isinstance(one, int) else _short(one) for one in ids]
    return "-".join([prefix, *parts])


class PartFiles:
    """The directories of the file sinks of a streaming job.

    ``checkpoint`` is the path of its checkpoint, None if that is deleted with the run.

    Threading: the thread of the rounds calls `write`; any thread may call `publish` after the last.
    """

    def __init__(self, spark: SparkSession, run: str, checkpoint: str | None) -> None:
        self._files = FilesOfSpark(spark)
        self._run = run
        self._checkpoint = run if checkpoint is None else self._files.qualified(checkpoint)
        self._first: int | None = None
        self._bases: set[str] = set()

    def write(
        self, writer: DataFrameWriter, base: str, prefix: str, job: str, sink: str, number: int
    ) -> None:
        """Write the rows of a sink in a round; publish those of the rounds before it."""
        if self._first is None:
            self._first = number
        self._settle(base, _short(job), number)
        self._bases.add(base)
        name = part_name(prefix, job, sink, number, self._checkpoint, self._run)
        writer.mode("errorifexists").save(f"{base}/{_IN_PROGRESS}/{name}")

    def _settle(self, base: str, job: str, number: int) -> None:
        """Publish what was committed before a round, and delete what an earlier run left of it.

        If the checkpoint was moved, the names of the last batch's files have the old path.  Later
        batches under another path may belong to a job that goes on running there.
        """
        for name in self._files.names(f"{base}/{_IN_PROGRESS}"):
            found = _NAME.fullmatch(name)
            if found is None or found["job"] != job:
                continue
            of = int(found["number"])
            ours = found["checkpoint"] == _short(self._checkpoint)
            if of < number if ours else of == number - 1 and number == self._first:
                self._publish(base, name)
            elif ours and found["run"] != _short(self._run):
                self._files.delete(f"{base}/{_IN_PROGRESS}/{name}")

    def publish(self, last: int) -> None:
        """Publish what this run has written up to a round, the last that was committed."""
        for base in self._bases:
            for name in self._files.names(f"{base}/{_IN_PROGRESS}"):
                found = _NAME.fullmatch(name)
                ours = found is not None and found["run"] == _short(self._run)
                if found is not None and ours and int(found["number"]) <= last:
                    self._publish(base, name)

    def _publish(self, base: str, name: str) -> None:
        self._files.rename(f"{base}/{_IN_PROGRESS}/{name}", f"{base}/{name}")


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
