"""Version files that are not where they belong, or not what was written: none is ever believed."""

from __future__ import annotations

import logging
import random
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from flinkish._core.values.codec import seal
from flinkish.common.errors import CorruptStateError, IncompatibleStateError, StateError
from flinkish.spark.versions import manifest as manifest_module
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.groups import PAGE
from flinkish.spark.versions.manifest import KIND_MANIFEST, MANIFEST_FORMAT, read_manifest
from flinkish.spark.versions.names import VersionName
from flinkish.spark.versions.purge import EVERY, purge
from flinkish.spark.versions.state import HEAD
from tests.spark.parts.test_versions import OTHER, batch, contents, opened, write

KEPT = Path(__file__).with_name("version_files_1.tar.gz")
GROUPS = range(6)


def files(root: Path, version: int, pattern: str = "*.state") -> list[Path]:
    return sorted((root / "flinkish" / "op" / f"{version:010d}").glob(pattern))


def history(root: Path, count: int = 3, partitions: int = 2, first: int = 0) -> None:
    """So many batches, each with a piece for every key group."""
    for number in range(first, first + count):
        for partition in range(partitions):
            at = batch(root, number, partition=partition)
            write(at, dict.fromkeys(GROUPS, b"batch %d " % number), partitions)


def swap(one: Path, other: Path) -> None:
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)


def exchange_partitions(root: Path) -> None:
    swap(*files(root, 3))


def older_under_a_newer_name(root: Path) -> None:
    for older, newer in zip(files(root, 2), files(root, 3), strict=True):
        shutil.copy(older, newer)


def another_tag(root: Path) -> None:
    """Of a batch that was planned anew, under the name of the one that counts."""
    aside = root / "aside"
    shutil.move(root / "flinkish" / "op" / "0000000003", aside)
    for partition in range(2):
        write(batch(root, 2, partition=partition, tag=21), {0: b"anew", 1: b"anew"}, 2)
    for path in files(root, 3):
        shutil.move(path, path.with_name(path.name.replace("21-", "20-", 1)))


def another_run(root: Path) -> None:
    for path in files(root, 3):
        shutil.move(path, path.with_name(path.name.replace("-aa-", "-cc-")))


def another_attempt(root: Path) -> None:
    for path in files(root, 3):
        shutil.move(path, path.with_name(path.name.replace("-0.state", "-9.state")))


def another_epoch(root: Path) -> None:
    for path in files(root, 3):
        tag, _, rest = path.name.split("-", 2)
        shutil.move(path, path.with_name(f"{tag}-99-{rest}"))


def another_number_of_partitions(root: Path) -> None:
    first, second = files(root, 3)
    second.unlink()
    shutil.move(first, first.with_name(first.name.replace("0of2", "0of1")))


def another_definition(root: Path) -> None:
    for path in files(root, 3):
        shutil.move(path, path.with_name(path.name.replace("-d0-", "-d1-")))


MOVES: list[Callable[[Path], None]] = [
    exchange_partitions,
    older_under_a_newer_name,
    another_tag,
    another_run,
    another_attempt,
    another_epoch,
    another_number_of_partitions,
    another_definition,
]


@pytest.mark.parametrize("run", ["aa", OTHER])
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_a_file_in_the_place_of_another(
    tmp_path: Path, move: Callable[[Path], None], run: str
) -> None:
    history(tmp_path)
    move(tmp_path)
    partitions = 1 if move is another_number_of_partitions else 2
    definition = "d1" if move is another_definition else "d0"
    for partition in range(partitions):
        at = batch(tmp_path, 3, partition=partition, run=run)
        if move is another_run and run == "aa":
            at = batch(tmp_path, 3, partition=partition, run="cc")
        with pytest.raises(CorruptStateError, match="put into the place of another"):
            opened(at, partitions, definition=definition)


def test_a_file_of_another_operator(tmp_path: Path) -> None:
    history(tmp_path)
    name = VersionName.parse(3, files(tmp_path, 3)[0].name)
    assert name is not None
    shutil.copytree(tmp_path / "flinkish" / "op", tmp_path / "flinkish" / "other")
    directory = VersionDirectory(str(tmp_path), "other")
    with (
        directory.open(name.path) as file,
        pytest.raises(manifest_module.MisplacedFile, match="of operator 'op'"),
    ):
        read_manifest(file, directory.operator, name)


def test_an_earlier_file_that_was_replaced(tmp_path: Path) -> None:
    """By one of the same size that is whole, of the same partition and with the same key groups."""
    for number in range(3):  # key group 2 has no piece in the last of them
        write(
            batch(tmp_path, number), {0: b"batch %d" % number, 2 * (number < 2): b"two %d" % number}
        )
    for version in (1, 2):
        (path,) = files(tmp_path, version)
        whole = path.read_bytes()
        (other,) = files(tmp_path, 3 - version)
        data = other.read_bytes()
        path.write_bytes(data[: len(whole)] + bytes(max(0, len(whole) - len(data))))
        with pytest.raises(CorruptStateError, match=r"other bytes at \d+|bytes at \d+, and"):
            contents(opened(batch(tmp_path, 3)))
        path.write_bytes(whole)
    assert contents(opened(batch(tmp_path, 3)))[2] == [b"two 0", b"two 1"]


@pytest.mark.parametrize("count", [3, PAGE + 5])
def test_any_byte_of_a_file(tmp_path: Path, count: int) -> None:
    """Changed, cut or put from elsewhere in the file: right, or an error; never something else."""
    for number in range(count):
        write(batch(tmp_path, number), {1: b"%d" % number, number % 3 + 2: b"x%d" % number})
    at = batch(tmp_path, count)
    wanted = contents(opened(at))
    chance = random.Random(count)
    errors = 0
    for version in range(1, count + 1):
        (path,) = files(tmp_path, version)
        whole = path.read_bytes()
        for _ in range(120 // count + 1):
            data = bytearray(whole)
            place, size = chance.randrange(len(data)), chance.choice([1, 4, 30])
            kind = chance.randrange(3)
            if kind == 0:
                data[place] ^= 1 << chance.randrange(8)
            elif kind == 1:
                del data[place:]
            else:
                source = chance.randrange(len(data))
                data[place : place + size] = data[source : source + size]
            path.write_bytes(data)
            try:
                assert contents(opened(at)) == wanted
            except StateError:
                errors += 1
        path.write_bytes(whole)
    assert errors


def test_key_groups_that_were_exchanged_in_a_file_of_format_1(tmp_path: Path) -> None:
    """Its manifest does not know whose it is; its key groups do."""
    unpack(tmp_path)
    swap(*files(tmp_path, 4))
    with pytest.raises(CorruptStateError, match=r"key group [135], which is not of partition 0"):
        opened(batch(tmp_path, 4), 2)
    unpack(tmp_path)
    for older, newer in zip(files(tmp_path, 3), files(tmp_path, 4), strict=True):
        shutil.copy(older, newer)
    with pytest.raises(CorruptStateError, match="says that it is of version 3"):
        opened(batch(tmp_path, 4), 2)


# --- files of format 1


def unpack(root: Path) -> None:
    with tarfile.open(KEPT) as archive:
        archive.extractall(root, filter="data")


def in_format_1(partition: int) -> dict[int, list[bytes]]:
    """What the kept files hold before batch 4."""
    found: dict[int, list[bytes]] = {-2: []}
    for group in GROUPS:
        if group % 2 == partition:
            numbers = [n for n in range(4) if n == 0 or (group + n) % 3 == 0]
            numbers = [3] if group == 0 else numbers
            found[group] = [b"group %d batch %d " % (group, number) * 4 for number in numbers]
    return found


def test_files_of_format_1_go_on(tmp_path: Path) -> None:
    """They were written by the code before format 2, and are not to be made again."""
    unpack(tmp_path)
    for partition in range(2):
        state = opened(batch(tmp_path, 4, partition=partition), 2)
        assert (state.progress.watermark, state.progress.watermarks) == (3000, [3000, 5])
        assert state.use(-2).getValue(HEAD) == (b"settings 3", False)
        assert contents(state) == in_format_1(partition)
        write(batch(tmp_path, 4, partition=partition), {partition: b"new"}, 2)
    for partition in range(2):
        wanted = in_format_1(partition)
        wanted[partition].append(b"new")
        assert contents(opened(batch(tmp_path, 5, partition=partition), 2)) == wanted
    (held,) = (contents(opened(batch(tmp_path, 4, run=OTHER), 1)),)  # another dealing
    assert held == in_format_1(0) | in_format_1(1)


def test_files_of_format_1_go(tmp_path: Path) -> None:
    """Once most of them is dead, what is left is taken along."""
    unpack(tmp_path)
    for number in range(4, 2 * EVERY + 1):
        for partition in range(2):
            at = batch(tmp_path, number, partition=partition, retained=4)
            state = opened(at, 2)
            for group in GROUPS if number == 4 else ():
                if group % 2 == partition:  # but for the first pieces of the last two
                    for sequence in state.use(group).sequences[group > 3 :]:
                        state.removeKey((sequence,))
            state.commit(number - 4)
            purge(VersionDirectory(str(tmp_path), "op"), at, 2)
    left = {path.parent.name for path in (tmp_path / "flinkish" / "op").glob("*/*")}
    assert min(left) > "0000000004"
    for partition in range(2):
        at = batch(tmp_path, 2 * EVERY + 1, partition=partition)
        found, wanted = contents(opened(at, 2)), in_format_1(partition)
        assert found == {group: pieces[: group > 3] for group, pieces in wanted.items()}


def test_a_newer_format(tmp_path: Path) -> None:
    history(tmp_path, 1, 1)
    (path,) = files(tmp_path, 1)
    frame = seal(KIND_MANIFEST, MANIFEST_FORMAT + 1, 0, b"what will be")
    path.write_bytes(frame + manifest_module._END.pack(len(frame), b"FLKV"))
    with pytest.raises(IncompatibleStateError, match=r"format 3; this is .* reads up to 2"):
        opened(batch(tmp_path, 1))


# --- purge


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)


def put_newer(path: Path) -> None:
    frame = seal(KIND_MANIFEST, MANIFEST_FORMAT + 1, 0, b"what will be")
    path.write_bytes(frame + manifest_module._END.pack(len(frame), b"FLKV"))


def put_folder(path: Path) -> None:
    """What nobody can read."""
    path.unlink()
    path.mkdir()


def add_torn(path: Path) -> None:
    """An attempt that a store without rename shows though it died."""
    path.with_name(path.name.replace("-0.state", "-1.state")).write_bytes(b"half a piece")


def put_other(path: Path) -> None:
    shutil.copy(path.parent / path.name.replace("0of2", "1of2"), path)


@pytest.mark.parametrize("version", ["the oldest", "the last"])
@pytest.mark.parametrize(
    "harm",
    [damage, put_newer, put_folder, add_torn, put_other, Path.unlink],
    ids=lambda f: f.__name__,
)
def test_nothing_goes_if_a_manifest_proves_nothing(
    tmp_path: Path, harm: Callable[[Path], None], version: str, caplog: pytest.LogCaptureFixture
) -> None:
    retained = 4
    history(tmp_path, EVERY)
    oldest = EVERY - retained
    harmed = files(tmp_path, oldest if version == "the oldest" else EVERY, "*0of2*")[0]
    last = batch(tmp_path, EVERY, partition=1, retained=retained)
    before = sorted(tmp_path.rglob("*"))
    kept = harmed.read_bytes()
    harm(harmed)
    harmful = {*tmp_path.rglob("*")} - {*before}
    with caplog.at_level(logging.WARNING, "flinkish.spark.versions"):
        assert purge(VersionDirectory(str(tmp_path), "op"), last, 2) == 0
    assert "no old state in" in caplog.text
    gone = {harmed} if harm is Path.unlink else set()
    assert {*tmp_path.rglob("*")} - harmful == {*before} - gone
    # All that is needed is there as soon as the file is.
    if harmed.is_dir():
        harmed.rmdir()
    for path in harmful:
        path.unlink()
    harmed.write_bytes(kept)
    for partition in range(2):
        found = contents(opened(batch(tmp_path, EVERY, partition=partition), 2))
        assert all(len(pieces) == EVERY for pieces in found.values())
    # The next time another version is the oldest.
    history(tmp_path, EVERY, first=EVERY)
    last = batch(tmp_path, 2 * EVERY, partition=0, retained=retained)
    assert purge(VersionDirectory(str(tmp_path), "op"), last, 2) == 0  # all have live pieces
