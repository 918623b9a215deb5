"""Version files: which count, what they hold, what is refused, and what may go."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.values.codec import CorruptFrame
from flinkish.common.errors import (
    CorruptStateError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
)
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import load
from flinkish.spark.versions.manifest import (
    NO_LABEL,
    NO_TIMER,
    RECORD,
    DataFile,
    Manifest,
    read_manifest,
    write_manifest,
)
from flinkish.spark.versions.names import VersionName, choices, folder_of
from flinkish.spark.versions.progress import Progress
from flinkish.spark.versions.purge import EVERY, purge
from flinkish.spark.versions.state import HEAD, PartitionState

RUN, OTHER = "aa", "bb"
GROUPS = 12


def name(**changes: Any) -> VersionName:
    fields = {
        "version": 5,
        "tag": 70,
        "epoch": 1,
        "run": RUN,
        "definition": "d0",
        "partition": 0,
        "partitions": 1,
    }
    return VersionName(**(fields | {"attempt": 0} | changes))


def batch(root: Path, number: int, **changes: Any) -> Batch:
    """A task of a batch whose time is ten times its number."""
    made = Batch(
        str(root), RUN, number, number * 10, (number - 1) * 10 if number else None, 0, 0, 100
    )
    return replace(made, **changes)


def opened(
    at: Batch, partitions: int = 1, defined_ms: int = 1, definition: str = "d0"
) -> PartitionState:
    directory = VersionDirectory(at.checkpoint, "op")
    return load(directory, at, partitions, defined_ms, "op", definition)


def write(at: Batch, values: dict[int, bytes], partitions: int = 1, defined_ms: int = 1) -> None:
    """Add a piece to some key groups, and let its number be the head."""
    state = opened(at, partitions, defined_ms)
    for key_group, value in values.items():
        if key_group % partitions == at.partition:
            log = state.use(key_group)
            number = max(log.sequences, default=-1) + 1
            log.updateValue((number,), (value, False))
            log.updateValue(HEAD, (str(number).encode(), False))
    state.commit(at.number - at.retained)


def contents(state: PartitionState) -> dict[int, list[bytes]]:
    found = {}
    try:
        for key_group in state.key_groups:
            log = state.use(key_group)
            pieces = [log.getValue((number,)) for number in log.sequences]
            found[key_group] = [piece[0] for piece in pieces if piece is not None]
    finally:
        state.abandon()
    return found


@given(
    st.tuples(*[st.integers(0, 2**62)] * 6),
    st.uuids().map(lambda one: one.hex),
)
def test_names_are_read_back(numbers: tuple[int, ...], run: str) -> None:
    version, tag, epoch, partition, partitions, attempt = numbers
    made = VersionName(version, tag, epoch, run, run[:8], partition, partitions, attempt)
    assert VersionName.parse(version, made.path.rpartition("/")[2]) == made
    assert VersionName.parse(version, made.path.rpartition("/")[2] + ".tmp") is None


class TestChoice:
    """V2 to V4."""

    def test_the_last_attempt_of_the_own_run(self) -> None:
        zombie, good = name(attempt=3), name(attempt=7)
        newer = name(run=OTHER, epoch=9, attempt=50)
        assert choices([good, zombie, newer], 70, RUN) == [{0: [good, zombie]}]

    def test_the_complete_run_with_the_highest_epoch(self) -> None:
        first = [name(partition=at, partitions=2, epoch=1) for at in (0, 1)]
        second = [name(partition=at, partitions=3, epoch=2, run=OTHER) for at in (0, 1, 2)]
        broken = [name(partition=0, partitions=2, epoch=3, run="cc")]
        found = choices([*first, *second, *broken], 70, "dd")
        assert found == [{one.partition: [one] for one in run} for run in (second, first)]

    def test_files_of_a_batch_that_was_planned_anew(self) -> None:
        assert choices([name(tag=69), name(tag=71)], 70, RUN) == []


def test_a_torn_file_has_no_manifest(tmp_path: Path) -> None:
    records = np.array([(2, 0, 5, 9, 7, NO_LABEL, NO_TIMER, (1, 2, 3, 4, 5))], RECORD)
    files = {0: DataFile("a", 5, 5), 3: DataFile("b", 7, 6)}
    manifest = Manifest("op", name(), ["a"], Progress(3, [1, 2]), 3, files, ["x"], records)
    whole = b"pieces" * 20_000 + write_manifest(manifest)
    directory = VersionDirectory(str(tmp_path), "op")
    for length in [0, 3, 11, 12, *range(len(whole) - 120, len(whole))]:
        writer = directory.create(name(attempt=length))
        writer.write(whole[:length])
        writer.finish()
        with directory.open(name(attempt=length).path) as file, pytest.raises(CorruptFrame):
            read_manifest(file, "op", name(attempt=length))
    writer = directory.create(name())
    writer.write(whole)
    writer.finish()
    with directory.open(name().path) as file:
        read = read_manifest(file, "op", name())
    assert read.records.tobytes() == records.tobytes()
    assert replace(read, records=records) == manifest


def test_each_version_rests_on_the_one_before(tmp_path: Path) -> None:
    write(batch(tmp_path, 0), {1: b"a", 2: b"x"})
    write(batch(tmp_path, 1), {1: b"b"})
    assert contents(opened(batch(tmp_path, 2))) == {1: [b"a", b"b"], 2: [b"x"]}
    assert contents(opened(batch(tmp_path, 1))) == {1: [b"a"], 2: [b"x"]}


def test_what_was_abandoned_does_not_count(tmp_path: Path) -> None:
    state = opened(batch(tmp_path, 0))
    state.use(1).updateValue((0,), (b"lost", False))
    state.abandon()
    assert list(tmp_path.rglob("*.*")) == []
    with pytest.raises(IncompatibleStateError, match="no state of operator 'op' before batch 1"):
        opened(batch(tmp_path, 1))


def test_a_batch_that_runs_again_in_another_run_replaces_what_was_there(tmp_path: Path) -> None:
    """A worker of the first run that goes on after its driver has died is too late, too."""
    write(batch(tmp_path, 0), {1: b"a"})
    zombie = opened(batch(tmp_path, 1), defined_ms=100)
    write(batch(tmp_path, 1, run=OTHER), {1: b"good"}, defined_ms=200)
    zombie.use(1).updateValue((1,), (b"bad", False))
    zombie.commit(0)
    third = batch(tmp_path, 2, run="cc")
    assert contents(opened(third, defined_ms=300)) == {1: [b"a", b"good"]}
    # Its own run reads on where it has been.
    assert contents(opened(batch(tmp_path, 2, run=OTHER))) == {1: [b"a", b"good"]}


def test_a_clock_that_was_set_back_does_not_let_an_earlier_run_count(tmp_path: Path) -> None:
    write(batch(tmp_path, 0), {1: b"first"}, defined_ms=1000)
    write(batch(tmp_path, 0, run=OTHER), {1: b"second"}, defined_ms=5)
    assert contents(opened(batch(tmp_path, 1, run="cc"), defined_ms=6)) == {1: [b"second"]}


def test_the_last_attempt_counts_unless_its_file_is_torn(tmp_path: Path) -> None:
    for attempt in (1, 3, 2):
        write(batch(tmp_path, 0, attempt=attempt), {1: b"%d" % attempt})
    assert contents(opened(batch(tmp_path, 1))) == {1: [b"3"]}
    (last,) = tmp_path.rglob("*-3.state")
    last.write_bytes(last.read_bytes()[:-1])
    assert contents(opened(batch(tmp_path, 1))) == {1: [b"2"]}
    for path in tmp_path.rglob("*.state"):
        path.write_bytes(b"")
    with pytest.raises(CorruptStateError, match=r"operator 'op' cannot be read: .*-3\.state"):
        opened(batch(tmp_path, 1))


@pytest.mark.parametrize("run", [RUN, OTHER])
def test_two_operators_of_one_name_are_noticed(tmp_path: Path, run: str) -> None:
    """Of a union, say; nothing of the one is ever taken for the other's."""
    for definition in ("d0", "d1"):
        at = batch(tmp_path, 0, attempt=int(definition == "d1"))
        state = opened(at, definition=definition)
        state.use(1).updateValue((0,), (definition.encode(), False))
        state.commit(0)
    for definition in ("d0", "d1", "d2"):
        with pytest.raises(IllegalArgumentError, match="two operators of this query"):
            opened(batch(tmp_path, 1, run=run), definition=definition)


def test_a_sink_that_reads_a_part_is_noticed(tmp_path: Path) -> None:
    write(batch(tmp_path, 0, partition=1), {1: b"a"}, partitions=2)
    with pytest.raises(IllegalStateError, match="partition 0 of operator 'op' wrote no state"):
        opened(batch(tmp_path, 1), partitions=2)


@pytest.mark.parametrize("before", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
def test_key_groups_are_dealt_anew(tmp_path: Path, before: int, after: int) -> None:
    values = {key_group: b"%d" % key_group for key_group in range(GROUPS)}
    for partition in range(before):
        write(batch(tmp_path, 0, partition=partition), values, partitions=before)
    found: dict[int, list[bytes]] = {}
    for partition in range(after):
        at = batch(tmp_path, 1, partition=partition, run=OTHER)
        held = contents(opened(at, partitions=after))
        assert all(key_group % after == partition for key_group in held)
        found |= held
    assert found == {key_group: [value] for key_group, value in values.items()}


def steps(seed: int, count: int) -> Iterator[dict[int, int]]:
    """For each batch, key groups with the size of what they write; 0 rewrites all in one."""
    chance = random.Random(seed)
    for _ in range(count):
        yield {
            key_group: chance.choice([0, 10, 1000])
            for key_group in chance.sample(range(GROUPS), chance.randrange(GROUPS // 2))
        }


@pytest.mark.parametrize("seed", range(4))
def test_old_files_go_and_nothing_that_is_needed(tmp_path: Path, seed: int) -> None:
    retained, partitions = 5, 2
    model: dict[int, list[bytes]] = {}
    history = [{}]
    chance = random.Random(seed)
    for number, wanted in enumerate(steps(seed, 12 * EVERY)):
        for partition in range(partitions):
            at = batch(tmp_path, number, partition=partition, attempt=number, retained=retained)
            if chance.random() < 0.2:  # an attempt that failed at its end
                opened(at, partitions).commit(number - retained)
                at = replace(at, attempt=number + 1000)
            state = opened(at, partitions)
            for key_group, size in wanted.items():
                if key_group % partitions != partition:
                    continue
                log = state.use(key_group)
                held = log.sequences
                value = chance.randbytes(size or 500)
                first = max(held, default=-1) + 1
                if not size:
                    for sequence in held:
                        log.removeKey((sequence,))
                    model[key_group] = []
                log.updateValue((first,), (value, False))
                model[key_group] = [*model.get(key_group, []), value]
            state.commit(number - retained)
            purge(VersionDirectory(str(tmp_path), "op"), at, partitions)
        history.append({key_group: list(values) for key_group, values in model.items()})
        for version in range(max(1, number - retained), number + 2):
            found: dict[int, list[bytes]] = {}
            for partition in range(partitions):
                at = batch(tmp_path, version, partition=partition, attempt=9999)
                found |= contents(opened(at, partitions))
            assert found == history[version]
    size = sum(len(value) for values in model.values() for value in values)
    files = list(tmp_path.rglob("*.state"))
    # Half of old files may be dead; what is newer than a purge may be anything.
    recent = [path for path in files if int(path.parent.name) >= number - retained - 2 * EVERY]
    old = sum(path.stat().st_size for path in set(files) - set(recent))
    assert old <= 2 * size + 64 * 1024
    assert len(files) < len(recent) + 40
    assert folder_of(1) not in {path.name for path in (tmp_path / "flinkish" / "op").iterdir()} or (
        any(path.parent.name == folder_of(1) for path in files)
    )
