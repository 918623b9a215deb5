"""What happens to version files: disks that are full, damage, stores without rename."""

from __future__ import annotations

import errno
import os
import random
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.state.table import StateTable
from flinkish.common import Types
from flinkish.common.errors import (
    CheckpointStorageError,
    CorruptStateError,
    IllegalStateError,
    StateError,
)
from flinkish.datastream.state import ValueStateDescriptor
from flinkish.spark.keyed import versioned
from flinkish.spark.keyed.group_state import GroupState
from flinkish.spark.tables import TableFiles
from flinkish.spark.versions import directory as directory_module
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.purge import EVERY, purge
from flinkish.spark.versions.state import PartitionState
from flinkish.state.backend import KeyedStateBackend
from tests.spark.fake_spark import plan
from tests.spark.parts.test_versions import OTHER, batch, contents, opened, write

OUT = pa.schema([("key", pa.string())])
TEXT = ValueStateDescriptor("text", Types.STRING())


@pytest.fixture(params=["a disk", "a store without rename"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A checkpoint where a file is renamed, or appears when it is closed."""
    if request.param == "a disk":
        return tmp_path
    pytest.importorskip("fsspec")
    return f"memory://{secrets.token_hex(8)}/checkpoint"


def names_in(root: Any, version: int) -> list[str]:
    return VersionDirectory(str(root), "op").files(version)


def no_space(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fill(state: PartitionState) -> None:
    """More than Python buffers."""
    state.use(1).updateValue((1,), (bytes(1 << 20), False))
    state.commit(0)


class TestAFullDisk:
    """Nothing counts, what is left is little, and the attempt after it is right."""

    def attempt(self, root: Path, break_it: Callable[[PartitionState], None]) -> None:
        write(batch(root, 0), {1: b"a"})
        state = opened(batch(root, 1, attempt=1))
        break_it(state)
        with pytest.raises(CheckpointStorageError, match=r"No space left.* make room there"):
            fill(state)
        state.abandon()
        assert names_in(root, 2) == []
        assert contents(opened(batch(root, 1, run=OTHER))) == {1: [b"a"]}
        write(batch(root, 1, attempt=2), {1: b"b"})
        assert contents(opened(batch(root, 2))) == {1: [b"a", b"b"]}

    def test_as_it_writes(self, tmp_path: Path) -> None:
        """/dev/full takes nothing, as a full disk."""

        def redirect(state: PartitionState) -> None:
            path = Path(state._writer._written)
            path.parent.mkdir(parents=True)
            path.symlink_to("/dev/full")

        self.attempt(tmp_path, redirect)

    def test_as_it_reaches_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: PartitionState) -> None:
            real = os.fsync

            def once(file: int) -> None:
                monkeypatch.setattr(directory_module.os, "fsync", real)
                no_space()

            monkeypatch.setattr(directory_module.os, "fsync", once)

        self.attempt(tmp_path, refuse)

    def test_as_it_gets_its_name(self, tmp_path: Path) -> None:
        class Full:
            def __init__(self, inner: Any) -> None:
                self._inner = inner

            def move(self, *_: Any) -> None:
                no_space()

            def __getattr__(self, name: str) -> Any:
                return getattr(self._inner, name)

        def refuse(state: PartitionState) -> None:
            state._writer._file_system = Full(state._writer._file_system)

        self.attempt(tmp_path, refuse)


def test_what_was_abandoned_leaves_nothing(root: Any) -> None:
    write(batch(root, 0), {1: b"a"})
    state = opened(batch(root, 1))
    state.use(1).updateValue((1,), (b"lost", False))
    state.abandon()
    assert names_in(root, 2) == []
    assert contents(opened(batch(root, 1))) == {1: [b"a"]}


def test_old_files_go(root: Any) -> None:
    for number in range(2 * EVERY + 1):
        at = batch(root, number, retained=3)
        write(at, {1: b"%d" % number})
        purge(VersionDirectory(str(root), "op"), at, 1)
    held = [b"%d" % number for number in range(2 * EVERY + 1)]
    assert contents(opened(batch(root, 2 * EVERY + 1))) == {1: held}
    for number in range(2 * EVERY - 2, 2 * EVERY + 1):  # what a query that goes back asks for
        assert contents(opened(batch(root, number))) == {1: held[:number]}


def put_torn(root: Any, at: Any, partitions: int, cut: int) -> None:
    """A file under its name that its writer did not finish: where there is no rename."""
    state = opened(at, partitions, defined_ms=100)
    state.use(at.partition).updateValue((9,), (b"torn", False))
    state.commit(0)
    path = f"{state._directory.path}/{state._name.path}"
    file_system = state._directory.file_system
    with file_system.open_input_file(path) as file:
        data = file.read()
    with file_system.open_output_stream(path) as file:
        file.write(data[: len(data) - cut])


@pytest.mark.parametrize("cut", [1, 40])
def test_a_run_whose_files_are_torn_does_not_count(root: Any, cut: int) -> None:
    """Another driver did the batch as well, and died: what the first one wrote is as good."""
    for partition in range(2):
        write(batch(root, 0, partition=partition), {0: b"a", 1: b"b"}, partitions=2)
    put_torn(root, batch(root, 0, partition=0, run=OTHER), 2, 0)
    put_torn(root, batch(root, 0, partition=1, run=OTHER), 2, cut)
    third = batch(root, 1, partition=1, run="cc")
    assert contents(opened(third, partitions=2)) == {1: [b"b"]}
    # The run itself never goes on from them.
    with pytest.raises(CorruptStateError):
        opened(replace(third, run=OTHER), partitions=2)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    write(batch(tmp_path, 0), {1: b"a"})
    write(batch(tmp_path, 1), {2: b"b"})
    (gone,) = (tmp_path / "flinkish" / "op" / "0000000001").iterdir()
    gone.unlink()
    state = opened(batch(tmp_path, 2))
    with pytest.raises(CorruptStateError, match=rf"{gone.name} is gone, and state is in it"):
        state.use(1).getValue((0,))
    state.abandon()


@pytest.mark.parametrize(
    ("whole", "why"), [(False, "ended before its end"), (None, r"Spark does not show .*'store'")]
)
def test_input_that_may_be_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool | None, why: str
) -> None:
    monkeypatch.setattr(versioned, "input_is_whole", lambda: whole)
    run = versioned.version_runner(plan(None, OUT, tmp_path, partitions=1))
    with pytest.raises(IllegalStateError, match=why):
        list(run(iter([])))


class Keys:
    """The values of some keys of one key group, in version files."""

    GROUP = 2

    def __init__(self, root: Path, tables: Path) -> None:
        self.root = root
        self.backend = KeyedStateBackend(StateTable())
        self.text = self.backend.state(TEXT)
        self.plan = plan(None, OUT, root, max_parallelism=8)
        self.tables = TableFiles("query", "operator", str(tables))

    def call(self, number: int, **values: str) -> dict[str, Any]:
        """What the keys a to d have in a batch, after some were given values."""
        state = opened(batch(self.root, number))
        group = GroupState(self.plan, self.backend, state.use(self.GROUP), self.tables)
        try:
            group.open(self.GROUP)
            found = {}
            for key in "abcd":
                self.backend.table.set_current_key(key, self.GROUP)
                if key in values:
                    self.text.update(values[key])
                found[key] = self.text.value()
            group.commit(None, 5)
            if values:
                state.commit(0)
            return found
        except StateError:
            group.abandon()
            raise
        finally:
            state.abandon()


@pytest.mark.parametrize("seed", range(2))
def test_a_flipped_bit_is_an_error_or_nothing(tmp_path: Path, seed: int) -> None:
    """Wherever it is: in a piece of a log, in a head, in the manifest, or in the very end."""
    root = tmp_path / "checkpoint"
    Keys(root, tmp_path / "tables").call(0, a="one", b="two" * 50)
    wanted = Keys(root, tmp_path / "tables").call(1, c="three", d="four" * 20)
    files = sorted(root.rglob("*.state"))
    assert len(files) == 2
    chance = random.Random(seed)
    errors = 0
    for path in files:
        whole = path.read_bytes()
        for at in range(len(whole)):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            keys = Keys(root, tmp_path / f"tables-{path.parent.name}-{at}")
            try:
                assert keys.call(2) == wanted
            except StateError:
                errors += 1
        path.write_bytes(whole)
    assert Keys(root, tmp_path / "again").call(2) == wanted
    # The manifest of the first batch is read by nobody any more.
    assert errors > 0.5 * sum(path.stat().st_size for path in files)
