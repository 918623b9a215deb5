"""Steady state, growth with the keys held, and restart without local files.

    bash ci/bench.sh spark_growth [versioned] [KEYS_HELD ...]      # default 100000 10000000

For each number of keys held: 1M-row batches that touch 100k keys; rows/s, checkpoint bytes and
seconds a batch (medians, without the first two), and what the largest Python worker takes.  Then
every table on the disk is deleted, the session's query starts again, and its first batch
rebuilds them all from the checkpoint.  With `versioned` state is in files versioned by batch.
"""

from __future__ import annotations

import shutil
import sys
from typing import Literal

import numpy as np
from _common import BATCH_MS, START_MS, WorkerMemory, Workspace, median, run, session

TOUCHED = 100_000
ROWS = 1_000_000
BATCHES = 10
TASKS = 2


def files_of_state(space: Workspace) -> int:
    """How many files of state there are in the checkpoint, with their checksums."""
    rooms = (space.path / "checkpoint" / name for name in ("state", "flinkish"))
    return sum(path.is_file() for room in rooms for path in room.rglob("*"))


def main(held_counts: list[int], backend: Literal["store", "versioned"]) -> None:
    spark = session()
    medians = {}
    for held in held_counts:
        with Workspace() as space:
            if held > TOUCHED:
                for first in range(0, held, ROWS):
                    space.put(np.arange(first, min(first + ROWS, held)), START_MS)
                run(spark, space, backend)
            for batch in range(1, BATCHES + 1):
                space.put_touching(held, TOUCHED, ROWS, START_MS + batch * BATCH_MS)
            before = files_of_state(space)
            with WorkerMemory() as memory:
                facts = run(spark, space, backend)
            steady = facts[2:]
            seconds = median([fact["seconds"] for fact in steady])
            medians[held] = seconds
            shown = [f"{fact['seconds']:.2f}" for fact in facts]
            plain = [fact["bytes"] for fact in steady if not fact["compactions"]]
            print(
                f"{held:>11,} keys held: {ROWS / seconds:>9,.0f} rows/s, {seconds:.2f} s a batch, "
                f"{median(plain) / 1e6:.2f} MB of checkpoint, "
                f"{sum(fact['compactions'] for fact in steady)} compactions in "
                f"{len(steady)} batches, "
                f"s a batch: {' '.join(shown)}",
                flush=True,
            )
            print(
                f"{held:>11,} keys held: a Python worker took at most "
                f"{memory.anonymous / 1e6:.0f} MB, and {memory.files / 1e6:.0f} MB of mapped files",
                flush=True,
            )
            print(
                f"{held:>11,} keys held: {(files_of_state(space) - before) / BATCHES / TASKS:.1f} "
                "more files a batch and task",
                flush=True,
            )
            shutil.rmtree(space.path / "tables")
            space.put_touching(held, TOUCHED, ROWS, START_MS + (BATCHES + 1) * BATCH_MS)
            first = run(spark, space, backend)[0]
            print(
                f"{held:>11,} keys held: first batch after the loss of every local file "
                f"{first['seconds']:.2f} s ({first['misses']} tables rebuilt)",
                flush=True,
            )
    first, *others = held_counts
    for held in others:
        print(
            f"{held:,} keys held / {first:,}: {medians[held] / medians[first]:.2f} × the batch time"
        )


if __name__ == "__main__":
    given = sys.argv[1:]
    counts = [int(argument) for argument in given if argument != "versioned"]
    main(counts or [100_000, 10_000_000], "versioned" if "versioned" in given else "store")
