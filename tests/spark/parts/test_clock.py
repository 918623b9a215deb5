"""The clock of a partition: the watermark of the batch before, out of Spark's state."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.values.codec import seal
from flinkish.common.errors import CorruptStateError, IncompatibleStateError
from flinkish.spark.keyed.clock import KIND_CLOCK, last_watermark
from flinkish.spark.keyed.group_state import HEAD
from tests.spark.fake_spark import FakeMap, plan


def clock(tmp_path: Path, log: FakeMap, batch: int | None, watermark: int) -> int | None:
    return last_watermark(plan(None, pa.schema([]), tmp_path), log, batch, watermark)


def test_only_the_batch_before_counts(tmp_path: Path) -> None:
    log = FakeMap({})
    assert clock(tmp_path, log, 3, 100) is None
    assert clock(tmp_path, log, 4, 200) == 100
    assert clock(tmp_path, log, 6, 300) is None, "batch 5 did not call this clock"
    assert clock(tmp_path, log, 7, 300) == 300
    # Tasks that cannot tell their batch know nothing, nor does the batch after them.
    assert clock(tmp_path, log, None, 400) is None
    assert clock(tmp_path, log, 9, 500) is None


def test_a_batch_that_is_run_again_sees_what_it_saw(tmp_path: Path) -> None:
    store: dict[str, Any] = {}
    clock(tmp_path, FakeMap(store), 3, 100)
    committed = {"log": dict(store["log"])}
    assert clock(tmp_path, FakeMap(store), 4, 200) == 100
    assert clock(tmp_path, FakeMap(committed), 4, 200) == 100


@pytest.mark.parametrize(
    ("version", "error"), [(1, CorruptStateError), (9, IncompatibleStateError)]
)
def test_a_clock_that_cannot_be_read(tmp_path: Path, version: int, error: type[Exception]) -> None:
    log = FakeMap({})
    frame = bytearray(seal(KIND_CLOCK, version, 0, json.dumps({}).encode()))
    if version == 1:
        frame[-6] ^= 1
    log.updateValue(HEAD, (bytes(frame), False))
    with pytest.raises(error, match="operator 'operator'"):
        clock(tmp_path, log, 4, 200)
