"""Key groups in version files: long logs, notes, what is live in which file."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.groups import PAGE, Note
from flinkish.spark.versions.manifest import read_manifest
from flinkish.spark.versions.names import VersionName
from flinkish.spark.versions.purge import EVERY, purge
from flinkish.spark.versions.state import HEAD, PartitionState
from tests.spark.parts.test_version_identity import files
from tests.spark.parts.test_versions import batch, contents, opened, write


def live(state: PartitionState) -> dict[str, int]:
    """The bytes of pieces and pages that are named in each file, counted one by one."""
    found: Counter[str] = Counter()
    for key_group in state.key_groups:
        group = state._group(key_group)
        for piece in [*group.page_places, *state._pieces(group).values()]:
            found[state._files[piece.file].path] += piece.size
    state.abandon()
    return dict(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_log_in_pages(tmp_path: Path, seed: int) -> None:
    """Appended to, rewritten, overwritten, cut: as a dict of pieces; and files say what is live."""
    chance = random.Random(seed)
    model: dict[int, dict[int, bytes]] = {group: {} for group in range(3)}
    heads: dict[int, bytes] = {}
    for number in range(3 * EVERY):
        at = batch(tmp_path, number, attempt=number, retained=6)
        state = opened(at)
        for group in chance.sample(range(3), 2):
            log, held = state.use(group), model[group]
            action = chance.randrange(12)
            if action == 0:
                for sequence in list(held):
                    log.removeKey((sequence,))
                held.clear()
            elif action == 1 and held:
                sequence = chance.choice(list(held))
                held[sequence] = chance.randbytes(20)
                log.updateValue((sequence,), (held[sequence], False))
            elif action == 2 and held:
                log.removeKey((max(held),))
                del held[max(held)]
            for _ in range(chance.choice([0, 1, 1, 7, PAGE + 3])):
                sequence = max(held, default=number) + 1
                held[sequence] = chance.randbytes(chance.choice([3, 300]))
                log.updateValue((sequence,), (held[sequence], True))
            heads[group] = b"%d" % number
            log.updateValue(HEAD, (heads[group], False))
            log.note(Note(number, "x", (1, 2, 3, 4, len(held))))
        state.commit(number - 6)
        directory = VersionDirectory(str(tmp_path), "op")
        purge(directory, at, 1)
        after = opened(batch(tmp_path, number + 1, attempt=9999))
        name = VersionName.parse(number + 1, files(tmp_path, number + 1)[-1].name)
        assert name is not None
        with directory.open(name.path) as file:
            said = read_manifest(file, "op", name).files.values()
        assert after.counted("x", []) == (
            len(heads),
            [len(heads) * n for n in (1, 2, 3, 4)] + [sum(map(len, model.values()))],
        )
        for group in heads:
            log = after.use(group)
            assert log.getValue(HEAD) == (heads[group], False)
            read = {sequence: log.getValue((sequence,)) for sequence in log.sequences}
            assert {n: value[0] for n, value in read.items() if value} == model[group]
        found = live(after)
        assert {file.path: file.live for file in said if file.live} == found
        old = [file for file in said if int(file.path.partition("/")[0]) < number - 6]
        assert sum(file.size for file in old) <= 2 * sum(found.values()) + 8192


def test_many_old_files_become_few(tmp_path: Path) -> None:
    """Key groups that are written to in turn have pieces in ever more files, none mostly dead."""
    groups = 50
    for number in range(4 * groups):
        write(batch(tmp_path, number, retained=3), {number % groups: b"p" * 50})
    name = VersionName.parse(4 * groups, files(tmp_path, 4 * groups)[0].name)
    assert name is not None
    directory = VersionDirectory(str(tmp_path), "op")
    with directory.open(name.path) as file:
        assert len(read_manifest(file, "op", name).files) <= 64 + 5
    held = contents(opened(batch(tmp_path, 4 * groups)))
    assert held == {group: [b"p" * 50] * 4 for group in range(groups)}


def test_notes_say_which_timers_are_due(tmp_path: Path) -> None:
    timers: dict[int, Any] = {0: None, 1: 5, 2: -(1 << 63), 3: (1 << 63) - 1, 4: 7}
    state = opened(batch(tmp_path, 0))
    for group, timer in timers.items():
        state.use(group).updateValue(HEAD, (b"head", False))
        if group != 4:
            state.note(Note(timer, "x", (group,) * 5))
    assert state.without_note == [4]
    state.commit(0)
    state = opened(batch(tmp_path, 1))
    assert state.without_note == [4]
    assert sorted(state.timers(5)) == [1, 2]
    assert sorted(state.timers(1 << 64)) == [1, 2, 3] == sorted(state.timers())
    assert state.counted("x", [3]) == (3, [3] * 5)
    assert state.counted("y", []) == (0, [0] * 5)
    state.use(1).updateValue(HEAD, (b"new", False))
    assert state.without_note == [1, 4]
    state.note(Note(9, "y", (1,) * 5))
    assert sorted(state.timers(5)) == [2]
    assert state.counted("y", []) == (1, [1] * 5)
    state.commit(0)
    last = opened(batch(tmp_path, 2))
    assert last.timers(1 << 64) == {1: 9, 2: -(1 << 63) + 1, 3: (1 << 63) - 1}
    assert last.counted("x", []) == (3, [5] * 5)
    last.abandon()
