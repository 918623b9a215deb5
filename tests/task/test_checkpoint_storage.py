"""Checkpoints in a directory, through kills and damage."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    CheckpointStorageError,
    CorruptStateError,
    IllegalArgumentError,
)
from flinkish.task import DamagedCheckpointWarning, FileSystemCheckpointStorage, StoredCheckpoint


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def file_of(directory: Path, checkpoint_id: int) -> Path:
    return directory / f"checkpoint-{checkpoint_id:020d}"


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path / "made" / "on the way")
    assert storage.load_latest() is None
    state = {"source": b"offset 7", "empty": b"", "large": bytes(range(256)) * 5000}
    storage.save(7, state)
    assert storage.load_latest() == StoredCheckpoint(7, state)
    again = FileSystemCheckpointStorage(tmp_path / "made" / "on the way")
    assert again.load_latest() == StoredCheckpoint(7, state)


def test_the_newest_is_by_id(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path, retain=10)
    for checkpoint_id in (9, 2**63 - 1, 10, 0):
        storage.save(checkpoint_id, {"n": str(checkpoint_id).encode()})
    assert storage.load_latest() == StoredCheckpoint(2**63 - 1, {"n": b"9223372036854775807"})


def test_old_ones_go(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path, retain=2)
    (tmp_path / ".unfinished-0123").write_bytes(b"of an attempt that was killed")
    (tmp_path / "notes.txt").write_text("not ours")
    for checkpoint_id in range(5):
        storage.save(checkpoint_id, {"n": b"x"})
    kept = [file_of(tmp_path, 3).name, file_of(tmp_path, 4).name, "notes.txt"]
    assert names(tmp_path) == kept


def test_an_id_is_replaced(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    storage.save(1, {"a": b"first"})
    storage.save(1, {"a": b"second"})
    assert storage.load_latest() == StoredCheckpoint(1, {"a": b"second"})


def test_a_file_cut_at_any_byte_is_passed_over(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    storage.save(1, {"a": b"one"})
    storage.save(2, {"a": b"two", "b": b"more" * 30})
    whole = file_of(tmp_path, 2).read_bytes()
    for length in range(len(whole)):
        file_of(tmp_path, 2).write_bytes(whole[:length])
        with pytest.warns(DamagedCheckpointWarning, match=r"checkpoint 2: .* 1 .* taken"):
            assert storage.load_latest() == StoredCheckpoint(1, {"a": b"one"})


def test_a_changed_bit_anywhere_is_found(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    storage.save(1, {"a": b"one"})
    storage.save(2, {"a": b"two", "b": b"more" * 30})
    whole = file_of(tmp_path, 2).read_bytes()
    chance = random.Random(1)
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 1 << chance.randrange(8)
        file_of(tmp_path, 2).write_bytes(bytes(broken))
        with pytest.warns(DamagedCheckpointWarning, match="checkpoint 2: "):
            assert storage.load_latest() == StoredCheckpoint(1, {"a": b"one"})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda file: file.write_bytes(file.read_bytes() + b"!"), "added to"),
        (lambda file: file.rename(file_of(file.parent, 8)), "the file was renamed"),
        (lambda file: file.write_bytes(b"PK\x03\x04 of some other program " * 3), "magic"),
    ],
)
def test_nothing_but_damage_is_an_error(tmp_path: Path, damage: object, message: str) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    storage.save(4, {"a": b"one"})
    damage(file_of(tmp_path, 4))  # type: ignore[operator]
    with pytest.raises(CorruptStateError, match=message) as caught:
        storage.load_latest()
    assert "none of the 1 checkpoints" in str(caught.value)


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(IllegalArgumentError, match=r"retain must be .* not 0"):
        FileSystemCheckpointStorage(tmp_path, retain=0)
    storage = FileSystemCheckpointStorage(tmp_path)
    for wrong in (-1, 2**63, "1"):
        with pytest.raises(IllegalArgumentError, match="checkpoint id"):
            storage.save(wrong, {})  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="not str by 'a'"):
        storage.save(1, {"a": "text"})  # type: ignore[dict-item]
    assert names(tmp_path) == []


def test_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointStorageError, match="cannot be written into") as caught:
        FileSystemCheckpointStorage(tmp_path / "file" / "below")
    assert caught.value.path == str(tmp_path / "file" / "below")
    storage = FileSystemCheckpointStorage(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    (tmp_path / "gone").write_text("a file by now")
    with pytest.raises(CheckpointStorageError, match="checkpoint 1 could not be written"):
        storage.save(1, {"a": b"one"})


def test_file_systems_of_pyarrow_and_of_fsspec(tmp_path: Path) -> None:
    for uri in (f"file://{tmp_path}/uri", "memory://checkpoints/of/this/test"):
        storage = FileSystemCheckpointStorage(uri, retain=1)
        storage.save(1, {"a": b"one"})
        storage.save(2, {"a": b"two"})
        assert storage.load_latest() == StoredCheckpoint(2, {"a": b"two"})
    assert names(tmp_path / "uri") == [file_of(tmp_path, 2).name]


WRITER = """
import sys
from flinkish.task import FileSystemCheckpointStorage
storage = FileSystemCheckpointStorage(sys.argv[1], retain=2)
found = storage.load_latest()
number = found.checkpoint_id if found else 0
while True:
    number += 1
    storage.save(number, {"n": str(number).encode(), "bulk": bytes([number % 256]) * 3_000_000})
    print(number, flush=True)
"""


def test_a_kill_at_any_moment_loses_no_finished_checkpoint(tmp_path: Path) -> None:
    chance = random.Random(7)
    reported = 0
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(chance.random() * 0.05)
            os.kill(writer.pid, signal.SIGKILL)
            lines = writer.stdout.read().split()
        reported = max([reported + 1, *map(int, lines)])
        found = FileSystemCheckpointStorage(tmp_path).load_latest()
        assert found is not None
        number = found.checkpoint_id
        assert number >= reported
        assert found.state["n"] == str(number).encode()
        assert found.state["bulk"] == bytes([number % 256]) * 3_000_000
        reported = number
