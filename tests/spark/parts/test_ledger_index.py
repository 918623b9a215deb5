"""How the index of a ledger reads: in few pieces, in whatever order, in bounded memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish.spark.results import LedgerIndex, ResumeLedger
from flinkish.spark.results import held as held_rooms
from flinkish.spark.results import index as index_of
from flinkish.spark.results.files import Place, SegmentFile
from tests.spark.parts.test_ledger import found, fresh, key, ledger, lists, rows, write


class Reads:
    """The files of a place, and how often and how much of them is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        opened = Place.open

        @contextmanager
        def counted(place: Place, segment: SegmentFile) -> Iterator[_Counted]:
            with opened(place, segment) as file:
                yield _Counted(file, self.sizes)

        monkeypatch.setattr(Place, "open", counted)

    def taken(self) -> list[int]:
        """How large the reads were since the last time (bytes)."""
        sizes, self.sizes[:] = list(self.sizes), []
        return sizes


class _Counted:
    def __init__(self, file: pa.NativeFile, sizes: list[int]) -> None:
        self._file = file
        self._sizes = sizes

    def size(self) -> int:
        return int(self._file.size())

    def read_at(self, size: int, at: int) -> bytes:
        read: bytes = self._file.read_at(size, at)
        self._sizes.append(len(read))
        return read


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def check(index: LedgerIndex) -> None:
    """The invariants of what is held (H1, H2 and H3 of ``held``)."""
    runs, values = index._runs, index._values
    order = list(runs._order)
    assert runs.bytes == sum(run.size + held_rooms.GROUP_BYTES * len(run.begins) for run in order)
    assert runs.bytes <= held_rooms.RUN_BYTES or len(order) == 1
    assert runs._of == {group: run for run in order for group in run.begins}
    with_values = [run for run, _ in values._order]
    weights = [run.size + held_rooms.RESULT_BYTES * len(run) for run in with_values]
    assert values.bytes == sum(weights)
    assert values.bytes <= held_rooms.VALUE_BYTES or len(weights) == 1
    assert all(run.values_held for run in with_values)
    assert values.at_hand.keys() <= {one for _, keys in values._order for one in keys}


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Room for the runs and values of a few groups of one result."""
    with monkeypatch.context() as patched:
        patched.setattr(held_rooms, "RUN_BYTES", 6_000)
        patched.setattr(held_rooms, "VALUE_BYTES", 5_000)
        patched.setattr("flinkish.spark.results.files._AT_ONCE_NEAR", 2_000)
        yield


# --- few reads


@pytest.mark.parametrize("home", ["disk", "memory"])
def test_small_groups_are_read_together(home: str, tmp_path: Path, reads: Reads) -> None:
    if home == "memory":
        pytest.importorskip("fsspec")
    book = ledger(tmp_path if home == "disk" else f"memory://{tmp_path.name}")
    write(book, *range(1_000), close=home == "memory")
    (segment,) = Place(book.path, book.fingerprint).segments()
    pieces = segment.size / fresh(book).place.at_once + 1
    reads.taken()
    index = fresh(book)
    sizes = reads.taken()
    assert len(sizes) <= pieces * 1.1, "to look what is there"
    assert sum(sizes) <= segment.size * 1.1
    assert found(index, *range(1_000)) == {n: rows(n) for n in range(1_000)}
    sizes = reads.taken()
    assert len(sizes) <= pieces * 1.1, "to get it"
    assert sum(sizes) <= segment.size
    assert found(index, *range(1_000)) == {n: rows(n) for n in range(1_000)}
    assert reads.taken() == [], "it is held"
    check(index)


def test_results_of_large_groups_are_read_when_they_are_asked_for(
    tmp_path: Path, reads: Reads
) -> None:
    book = ledger(tmp_path)
    writer = book.writer("0")
    long = "x" * 300_000
    for number in range(20):
        result = [{"label": f"{number}{long}", "score": 0.0}]
        writer.append([key(number)], pa.array([result], book._kind))
    writer.close()
    index = fresh(book)
    assert sum(reads.taken()) <= 21 * index.place.at_once < 20 * len(long) / 4
    assert found(index, 7) == {7: [(f"7{long}", 0.0)]}
    (size,) = reads.taken()
    assert len(long) < size < len(long) + 1_000


def test_it_knows_when_it_must_read(tmp_path: Path, reads: Reads) -> None:
    book = ledger(tmp_path)
    write(book, *range(40))
    index = fresh(book)
    reads.taken()
    for number in (3, 3, 4, 39, 50):
        must_read = index.must_read(key(number))
        index.get(key(number))
        assert must_read == bool(reads.taken()), number
    assert index.must_read(key(0)), "it lies before the run"


def test_a_run_ends_where_another_is_held(tmp_path: Path, reads: Reads) -> None:
    book = ledger(tmp_path)
    write(book, *range(40))
    index = fresh(book)
    for number in (20, 0, 10, 30):
        assert found(index, number)
    check(index)
    assert [len(run) for run in index._runs._order] == [20, 20]


# --- any order, in little room


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("order", ["forward", "backward", "one in seven", "random", "twice"])
def test_every_order_gives_the_same_and_reads_no_more_than_it_may(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = ledger(tmp_path)
    for attempt in range(3):
        write(book, *range(attempt, 240, 3), attempt=str(attempt))
    made = 0
    original = index_of.rows_of

    def counted(results: pa.ListArray) -> Any:
        nonlocal made
        made += len(results)
        return original(results)

    monkeypatch.setattr(index_of, "rows_of", counted)
    asked = list(range(240))
    if order == "backward":
        asked.reverse()
    elif order == "one in seven":
        asked = [number for first in range(7) for number in range(first, 240, 7)]
    elif order == "random":
        random.Random(7).shuffle(asked)
    elif order == "twice":
        asked *= 2
    index = fresh(book)
    for number in asked:
        assert found(index, number) == {number: rows(number)}
        check(index)
        held = sum(len(run) for run, _ in index._values._order)
        assert made <= 3 * index.saved + held + 20, "values that nobody asked for (X2)"
        on_hold = sum(map(len, index._runs._order))
        assert index._runs.let_go <= 3 * index.saved + on_hold + 20, "results (X2)"
    assert index.saved == len(asked)


def test_a_run_is_no_longer_than_its_segments_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions may ask in turns for what as many segments have."""
    monkeypatch.setattr(held_rooms, "RUN_BYTES", 40_000)
    book = ledger(tmp_path)
    for attempt in range(8):
        write(book, *range(attempt, 400, 8), attempt=str(attempt))
    index = fresh(book)
    assert found(index, *range(400)) == {n: rows(n) for n in range(400)}
    assert all(run.size <= 5_000 for run in index._runs._order)
    check(index)


# --- who counts


def test_keys_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    one, other = b"alike..." + b"one.....", b"alike..." + b"other..."
    writer = book.writer("0")
    writer.append([one, key(5)], lists(1, 5))
    writer.append([other], lists(2))
    writer.close()
    for asked in ([one, other], [other, one], [other, other, one, one]):
        index = fresh(book)
        got = {name: index.get(name) for name in asked}
        assert got == {one: rows(1), other: rows(2)}
        assert index.get(b"alike..." + b"neither.") is None


@pytest.mark.parametrize("first_asked", [3, 4])
def test_of_several_results_counts_which_came_first(tmp_path: Path, first_asked: int) -> None:
    """Whether the group of one or of the other was read first."""
    book = ledger(tmp_path)
    path = _pair(book, "0", key(1), key(3), 1)
    _pair(book, "1", key(1), key(4), 2)
    index = fresh(book)
    index.get(key(first_asked))
    assert index.get(key(1)) == rows(1)
    assert index.get(key(1)) == rows(1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:])
    index = fresh(book)
    index.get(key(first_asked))
    for _ in range(2):
        assert index.get(key(1)) == rows(2), "the first is damaged"
    assert index.get(key(3)) is None
    assert index.get(key(4)) == rows(2)
    assert len(index.damaged) == 1


def _pair(book: ResumeLedger, attempt: str, one: bytes, other: bytes, result: int) -> Path:
    """A segment of one group, in which two keys have the same result."""
    writer = book.writer(attempt)
    writer.append([one, other], lists(result, result))
    writer.close()
    return Path(book.path, book.fingerprint, writer._name)


def test_a_group_that_holds_a_key_twice_is_damaged_once(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = _pair(book, "0", key(1), key(1), 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:])
    index = fresh(book)
    assert index.get(key(1)) is None
    assert len(index.damaged) == 1
    assert len(index) == 0


def test_a_file_that_is_gone_is_told_of_once(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = write(book, *range(50))
    write(book, *range(40, 60), attempt="1")
    index = fresh(book)
    path.unlink()
    assert sorted(found(index, *range(60))) == list(range(40, 60))
    assert [(damage.segment, damage.reason) for damage in index.damaged] == [
        (path.name, "the file is gone")
    ]


def test_what_was_seen_before_a_listing_failed_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = ledger(tmp_path)
    write(book, *range(3))
    write(book, *range(3, 6), attempt="1")
    opened = Place.open

    def fails(place: Place, segment: SegmentFile) -> Any:
        if "-1-" in segment.name:
            raise OSError("the network")
        return opened(place, segment)

    index = LedgerIndex(Place(book.path, book.fingerprint), book._kind)
    with monkeypatch.context() as patched:
        patched.setattr(Place, "open", fails)
        with pytest.raises(OSError, match="the network"):
            index.refresh()
    assert sorted(found(index, *range(6))) == [0, 1, 2]
    index.refresh()
    assert sorted(found(index, *range(6))) == list(range(6))
    assert len(index) == 6


# --- damage among neighbours, against a model


@settings(max_examples=40)
@given(data=st.data(), room=st.sampled_from([700, 3_000, 100_000]))
def test_damage_costs_groups_and_not_their_neighbours(
    data: st.DataObject, room: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A dict that has lost the groups in which a byte was changed."""
    groups = data.draw(st.lists(st.lists(st.integers(0, 30), max_size=4), min_size=1, max_size=14))
    book = ledger(tmp_path_factory.mktemp("ledger"))
    writer = book.writer("0")
    ends = [0]
    for numbers in groups:
        writer.append([key(number) for number in numbers], lists(*numbers))
        path = Path(book.path, book.fingerprint, writer._name)
        ends.append(path.stat().st_size)
    writer.close()
    torn = data.draw(st.sets(st.integers(0, len(groups) - 1), max_size=4))
    blob = bytearray(path.read_bytes())
    for group in torn:
        blob[ends[group + 1] - 1] ^= 0xFF  # within the results
    path.write_bytes(blob)
    kept = {n for at, numbers in enumerate(groups) if at not in torn for n in numbers}
    # Of a group whose every result came before, in a sound group, nobody asks for anything.
    sound = [set[int]().union(*(groups[b] for b in range(at) if b not in torn)) for at in torn]
    missed = {at for at, there in zip(torn, sound, strict=True) if set(groups[at]) - there}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(held_rooms, "RUN_BYTES", room)
        patched.setattr(held_rooms, "VALUE_BYTES", room)
        index = fresh(book)
        for number in data.draw(st.permutations(range(32))) * 2:
            assert found(index, number) == ({number: rows(number)} if number in kept else {})
        check(index)
    assert {damage.reason for damage in index.damaged} <= {"body checksum"}
    begins = [damage.end for damage in index.damaged]
    assert len(begins) == len(set(begins)), "each is told of once"
    assert {ends[at + 1] for at in missed} <= set(begins) <= {ends[at + 1] for at in torn}
