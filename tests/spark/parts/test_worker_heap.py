"""Workers leave what they have loaded out of garbage collections."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest

from flinkish.spark import worker_heap
from flinkish.spark.worker_heap import settling

NEW_PROCESS = """
import gc
from flinkish.spark.worker_heap import settle
settle()
frozen = gc.get_freeze_count()
assert frozen > 10_000, frozen
assert len(gc.get_objects()) < frozen / 10
loop = []
loop.append(loop)
settle()  # nothing more was loaded
assert gc.get_freeze_count() <= frozen
del loop
assert gc.collect() == 1, "what a task leaves is collected"
import colorsys
settle()
assert gc.get_freeze_count() > frozen
"""


def test_settle() -> None:
    subprocess.run([sys.executable, "-c", NEW_PROCESS], check=True)


@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_settles_after_its_task(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    seen: list[str] = []
    monkeypatch.setattr(worker_heap, "settle", lambda: seen.append("settled"))

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            seen.append("batch")
            yield batch
        if fails:
            raise RuntimeError("of the task")

    run = settling(task)
    assert run.__name__ == "task"
    found = run(iter([pa.record_batch({"n": [1]})] * 2))
    if fails:
        with pytest.raises(RuntimeError, match="of the task"):
            list(found)
    else:
        assert len(list(found)) == 2
    assert seen == ["batch", "batch", "settled"]
