"""The ledger of results: what writing one down, finding it and not finding it cost.

Figures are seconds for ``RESULTS`` of them: divide to get one.
"""

import asyncio
import shutil
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from flinkish.common import Row
from flinkish.operators import TaskRuntimeContext
from flinkish.spark.ledger import LedgerIndex, LedgerLayer, ResumeLedger, row_key
from flinkish.spark.ledger.files import Place

RESULTS = 50_000
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
