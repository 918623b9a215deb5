"""What a later flinkish wrote is refused by name, wherever it is kept, and passed over nowhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flinkish import __version__
from flinkish._core.values.codec import seal
from flinkish.common.errors import IncompatibleStateError
from flinkish.operators import async_snapshot
from flinkish.operators.snapshot import KIND_KEY_GROUP, KIND_MANIFEST, OperatorSnapshot
from flinkish.task import checkpoint_storage, in_flight
from flinkish.task.checkpoint_storage import FileSystemCheckpointStorage

MANIFEST = json.dumps({"flinkish": "9.1", "all": "else"}).encode()

READERS: dict[str, tuple[Callable[[], Any], str]] = {
    "snapshot": (
        lambda: OperatorSnapshot.from_bytes(seal(KIND_MANIFEST, 9, 0, MANIFEST)),
        "9.1",
    ),
    "key group of a snapshot": (
        lambda: OperatorSnapshot.open_group(3, seal(KIND_KEY_GROUP, 9, 3, b"what this is")),
        "a later version",
    ),
    "asynchronous operator": (
        lambda: async_snapshot.load_elements(seal(async_snapshot.KIND_ELEMENTS, 9, 0, b"[]")),
        "a later version",
    ),
    "task": (
        lambda: in_flight.TaskSnapshot.from_bytes(seal(in_flight.KIND_TASK, 9, 0, b"what")),
        "a later version",
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_newer_bytes(name: str) -> None:
    read, by = READERS[name]
    needed = f"written by flinkish {by} in the format 9; this is flinkish {__version__}, .* up to 1"
    with pytest.raises(IncompatibleStateError, match=needed) as caught:
        read()
    assert "Nothing is damaged" in str(caught.value)
    assert (caught.value.was, caught.value.now) == (9, 1)


def test_a_newer_checkpoint_is_not_passed_over_for_an_older_one(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(str(tmp_path))
    storage.save(1, {"task": b"old"})
    newer = seal(checkpoint_storage.KIND_MANIFEST, 9, 0, MANIFEST, compress=False)
    (tmp_path / f"checkpoint-{2:020d}").write_bytes(newer)
    needed = "checkpoint 2 in .* was written by flinkish 9.1 in the format 9"
    with pytest.raises(IncompatibleStateError, match=needed):
        storage.load_latest()
    (tmp_path / f"checkpoint-{2:020d}").unlink()
    found = storage.load_latest()
    assert found is not None
    assert found.state == {"task": b"old"}
