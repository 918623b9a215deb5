"""The ledger of results: what writing one down, finding it and not finding it cost.

Figures are seconds for ``RESULTS`` of them: divide to get one.
"""

import asyncio
import random
import shutil
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from flinkish.common import Row
from flinkish.operators import TaskRuntimeContext
from flinkish.spark.results import LedgerIndex, LedgerLayer, ResumeLedger, row_key
from flinkish.spark.results.files import Place

RESULTS = 50_000
PARTS = 4
TOGETHER = 200  # results that are written at once: those of 20 ms at 10,000/s
SCHEMA = pa.schema([("id", pa.int64()), ("topic", pa.string()), ("priority", pa.int32())])


def rows() -> list[Row]:
    """What calls are made for."""
    return [Row(id=number, subject="Charged twice", tier="team") for number in range(RESULTS)]


def fill(ledger: ResumeLedger, keys: list[bytes]) -> None:
    """Write a result for each key."""
    answer = {"id": 7, "topic": "billing", "priority": 1}
    results = pa.array([[answer]] * TOGETHER, pa.list_(pa.struct(list(SCHEMA))))
    writer = ledger.writer("0")
    for first in range(0, len(keys), TOGETHER):
        writer.append(keys[first : first + TOGETHER], results)
    writer.close()


class Ledger:
    """``RESULTS`` rows and their results on the local disk."""

    number = 1
    repeat = (3, 7, 20.0)
    warmup_time = 0

    def setup_cache(self) -> str:
        """A ledger with all results; asv makes it once, in a directory that it deletes."""
        path = str(Path("full").absolute())
        fill(ResumeLedger(path, "f", "1", SCHEMA), [row_key(row) for row in rows()])
        return path

    def setup(self, full: str) -> None:
        self.rows = rows()
        self.keys = [row_key(row) for row in self.rows]
        self.full = ResumeLedger(full, "f", "1", SCHEMA)
        self.index = self.full.index()
        self.room = tempfile.mkdtemp()
        self.fresh = count()

    def teardown(self, full: str) -> None:
        shutil.rmtree(self.room)

    def empty(self) -> ResumeLedger:
        """Another ledger, with nothing in it."""
        return ResumeLedger(f"{self.room}/{next(self.fresh)}", "f", "1", SCHEMA)

    def time_key(self, full: str) -> None:
        for row in self.rows:
            row_key(row)

    def time_append(self, full: str) -> None:
        fill(self.empty(), self.keys)

    def time_look_at_what_is_there(self, full: str) -> None:
        """What the first task of a process does before its first row."""
        index = LedgerIndex(Place(full, self.full.fingerprint), self.index._kind)
        index.refresh()
        assert len(index) == RESULTS

    def time_find(self, full: str) -> None:
        for key in self.keys:
            assert self.index.get(key) is not None

    def time_miss(self, full: str) -> None:
        for key in self.keys:
            assert self.index.get(key[::-1]) is None

    def time_call_that_is_saved(self, full: str) -> None:
        assert self._calls(self.full) == 0

    def time_call_that_is_made(self, full: str) -> None:
        assert self._calls(self.empty()) == RESULTS

    def _calls(self, ledger: ResumeLedger) -> int:
        made = 0

        async def call(row: Row) -> list[Any]:
            nonlocal made
            made += 1
            return [(row["id"], "billing", 1)]

        async def main() -> None:
            for row in self.rows:
                await layer.call(call, row)

        layer = LedgerLayer(ledger)
        layer.open(TaskRuntimeContext(task_name="calls"), lambda: None)
        try:
            asyncio.run(main())
        finally:
            layer.close()
        return made


class Resume:
    """A process finds all that others have written, in groups as they come at 400 calls a second.

    Four segments; each partition's rows come in the order in which an earlier run took them, up to
    calls that took longer than others.  ``order`` says which partitions ask: the same ones, others
    (as many results of each segment, in turns), or rows that were shuffled.
    """

    params = (["same", "other", "shuffled"], [25_000, 250_000])
    param_names = ("order", "results")
    number = 1
    repeat = (3, 5, 20.0)
    warmup_time = 0

    def setup_cache(self) -> str:
        """Ledgers with all results, in a directory that asv deletes."""
        path = Path("resume").absolute()
        for results in self.params[1]:
            self._fill(ResumeLedger(str(path / str(results)), "f", "1", SCHEMA), results)
        return str(path)

    def _fill(self, ledger: ResumeLedger, results: int) -> None:
        chance = random.Random(results)
        kind = pa.list_(pa.struct(list(SCHEMA)))
        for part in range(PARTS):
            rows = range(part, results, PARTS)
            ends = [at / 400 + chance.lognormvariate(-1.6, 0.5) for at in range(len(rows))]
            done = [row for _, row in sorted(zip(ends, rows, strict=True))]
            writer = ledger.writer(f"{part}-0")
            while done:
                some = [done.pop(0) for _ in range(min(chance.randint(8, 14), len(done)))]
                answers = [[{"id": row, "topic": "billing", "priority": 1}] for row in some]
                writer.append([row_key(Row(id=row)) for row in some], pa.array(answers, kind))
            writer.close()

    def setup(self, path: str, order: str, results: int) -> None:
        self.ledger = ResumeLedger(f"{path}/{results}", "f", "1", SCHEMA)
        parts = {"same": PARTS, "other": PARTS + 3, "shuffled": 1}[order]
        asked = [row for part in range(parts) for row in range(part, results, parts)]
        if order == "shuffled":
            random.Random(results).shuffle(asked)
        self.keys = [row_key(Row(id=row)) for row in asked]

    def time_find_all(self, path: str, order: str, results: int) -> None:
        index = LedgerIndex(Place(self.ledger.path, self.ledger.fingerprint), self.ledger._kind)
        index.refresh()
        for key in self.keys:
            assert index.get(key) is not None
