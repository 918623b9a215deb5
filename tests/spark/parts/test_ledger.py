"""The resume ledger: keys, files cut or damaged anywhere, attempts at once, compaction."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish.common import Row
from flinkish.common.errors import CheckpointStorageError
from flinkish.spark.results import KEY_BYTES, LedgerIndex, ResumeLedger, function_version, row_key
from flinkish.spark.results.files import Place
from flinkish.spark.results.segments import group_bytes
from flinkish.spark.results.writer import LedgerWriter

SCHEMA = pa.schema([("label", pa.string()), ("score", pa.float64())])


def ledger(path: Path | str, **changes: Any) -> ResumeLedger:
    given = {"function": "f", "version": "1", "schema": SCHEMA} | changes
    return ResumeLedger(str(path), **given)


def key(number: int) -> bytes:
    return row_key(Row(id=number))


def lists(*numbers: int) -> pa.ListArray:
    each = [[dict(zip(SCHEMA.names, row, strict=True)) for row in rows(n)] for n in numbers]
    return pa.array(each, pa.list_(pa.struct(list(SCHEMA))))


def rows(number: int) -> list[tuple[str, float]]:
    """Some calls give nothing, some one row, some two."""
    return [(f"l{number}", number + i / 4) for i in range(number % 3)]


def found(index: LedgerIndex, *numbers: int) -> dict[int, list[tuple[Any, ...]]]:
    got = {number: index.get(key(number)) for number in numbers}
    return {number: result for number, result in got.items() if result is not None}


def fresh(book: ResumeLedger) -> LedgerIndex:
    """An index as a process has that has none yet."""
    index = LedgerIndex(Place(book.path, book.fingerprint), book._kind)
    index.refresh()
    return index


def write(book: ResumeLedger, *numbers: int, attempt: str = "0", close: bool = True) -> Path:
    """A segment with a group of one result for each."""
    writer = book.writer(attempt)
    for number in numbers:
        writer.append([key(number)], lists(number))
    if close:
        writer.close()
    return Path(book.path, book.fingerprint, writer._name)


# --- keys


def test_keys_do_not_depend_on_the_order_of_fields() -> None:
    one = Row(a=1, b=[Row(x=1, y="q")], c={"k": 1, "l": 2})
    assert len(row_key(one)) == KEY_BYTES
    assert row_key(one) == row_key(Row(c={"l": 2, "k": 1}, b=[Row(y="q", x=1)], a=1))


def test_keys_tell_values_and_names_apart() -> None:
    day, aware = datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=timezone.utc)
    different = [
        *(Row(a="x", b="yz"), Row(a="xy", b="z"), Row(a="x", b="y"), Row(a="x", c="y")),
        *(Row(b="x", a="y"), Row(a="x', 'b': 'y"), Row(a=1), Row(a="1"), Row(a=1.0), Row(a=True)),
        *(Row(a=None), Row(a="None"), Row(a=[]), Row(a=[None]), Row(a=b"x"), Row(a=day)),
        *(Row(a=aware), Row(a=Decimal("1.0")), Row(a=Decimal("1.00")), Row(a={}), Row(a={1: 2})),
    ]
    assert len({row_key(row) for row in different}) == len(different)


def test_keys_stay_what_they_are() -> None:
    """Written down in ledgers, so a release must not change them."""
    assert key(1).hex() == "5638dcb0af5ed2fc4e00b9a5794f3f35"


def test_another_function_version_setting_or_schema_does_not_see_results(tmp_path: Path) -> None:
    write(ledger(tmp_path), 1)
    assert found(ledger(tmp_path).index(), 1)
    others: list[dict[str, Any]] = [
        {"function": "g"},
        {"version": "2"},
        {"settings": {"model": "large"}},
        {"schema": pa.schema([("label", pa.string())])},
    ]
    for other in others:
        assert not found(ledger(tmp_path, **other).index(), 1)


def test_the_version_of_a_function_is_what_it_says() -> None:
    def one(row: Any) -> Any:
        return [row]

    def other(row: Any) -> Any:
        return [row, row]

    class Calls:
        def __call__(self, row: Any) -> Any:
            return [row]

    source = "def made(x):\n    return [x + %d]\n"
    built = []
    for number in (1, 2, 1):
        space: dict[str, Any] = {"__name__": "console"}
        exec(source % number, space)
        built.append(function_version(space["made"]))
    assert function_version(one) == function_version(one)
    assert function_version(Calls()) == function_version(Calls())
    assert len({function_version(subject) for subject in (one, other, Calls, Calls())}) == 4
    assert built[0] == built[2] != built[1]


# --- reading what was written


def test_results_come_back_with_their_rows(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    write(book, 1, 2, 3)
    write(book, 4, 5, attempt="1")
    index = fresh(book)
    assert len(index) == 5
    assert found(index, 5, 9, 3, 1, 5) == {5: rows(5), 3: rows(3), 1: rows(1)}
    assert index.saved == 4
    assert index.damaged == []
    assert found(index) == {}


def test_a_ledger_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    assert len(ledger(tmp_path / "none").index()) == 0
    assert not (tmp_path / "none").exists()


def test_the_index_of_a_process_grows_with_what_was_written_since(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    writer = book.writer("0")
    writer.append([key(1)], lists(1))
    index = book.index()
    assert found(index, 1, 2) == {1: rows(1)}
    writer.append([key(2)], lists(2))
    write(book, 3)
    assert book.index() is index
    assert found(index, 1, 2, 3) == {n: rows(n) for n in (1, 2, 3)}
    writer.close()
    assert len(book.index()) == 3


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    writer = ledger(tmp_path / "file").writer("0")
    with pytest.raises(CheckpointStorageError, match="cannot be written to the ledger") as caught:
        writer.append([key(1)], lists(1))
    assert caught.value.path == str(tmp_path / "file")


# --- kills and damage


def test_a_segment_cut_at_any_byte_gives_what_was_whole_before(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = write(book, 1, 2, 3)
    whole = path.read_bytes()
    ends = [0]
    for number in (1, 2, 3):
        other = write(ledger(tmp_path / str(number)), *range(1, number + 1), close=False)
        ends.append(other.stat().st_size)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        index = fresh(book)
        complete = sum(size >= end for end in ends) - 1
        assert sorted(found(index, 1, 2, 3)) == list(range(1, complete + 1)), size
        assert index.damaged == [], size


def test_a_byte_changed_anywhere_is_noticed_named_and_believed_by_nobody(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = write(book, 1, 2, 3)
    whole = path.read_bytes()
    for at in range(len(whole) - 32):  # the rest is the end, which holds no result
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        index = fresh(book)
        got = found(index, 1, 2, 3)
        assert got.items() <= {n: rows(n) for n in (1, 2, 3)}.items(), at
        assert len(got) < 3, at
        assert [damage.segment for damage in index.damaged] == [path.name], at
        assert found(index, 1, 2, 3) == got, at


def test_damage_in_one_group_costs_that_group_alone(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = write(book, 1, 2, 3)
    whole = path.read_bytes()
    first = write(ledger(tmp_path / "first"), 1, close=False).stat().st_size
    for at in (first + 40, first + 32 + KEY_BYTES + 40):  # in the keys, in the results of group 2
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        index = fresh(book)
        assert found(index, 1, 2, 3) == {1: rows(1), 3: rows(3)}
        index.refresh()
        assert [damage.reason for damage in index.damaged] == ["body checksum"]


def test_damage_is_counted_once(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = write(book, 1, 2, close=False)
    whole = path.read_bytes()
    begin = write(ledger(tmp_path / "first"), 1, close=False).stat().st_size
    path.write_bytes(whole[: begin + 40] + bytes([whole[begin + 40] ^ 1]) + whole[begin + 41 :])
    index = fresh(book)
    path.write_bytes(path.read_bytes() + group_bytes(2, key(3), lists(3)))
    index.refresh()
    index.refresh()
    assert found(index, 1, 2, 3) == {1: rows(1), 3: rows(3)}
    assert len(index.damaged) == 1


def test_a_result_that_is_there_twice_survives_the_damage_of_one(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = write(book, 1)
    write(book, 1, attempt="1")
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:])
    index = fresh(book)
    found(index, 1)
    assert found(index, 1) == {1: rows(1)}


KILLED = """
    import os, sys
    sys.path[:0] = {path!r}
    from tests.spark.parts.test_ledger import key, ledger, lists
    writer = ledger({home!r}).writer("0")
    for number in range(50):
        writer.append([key(number)], lists(number))
    os.kill(os.getpid(), 9)
"""


def test_what_was_appended_survives_a_kill(tmp_path: Path) -> None:
    script = textwrap.dedent(KILLED).format(path=sys.path, home=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], env=dict(os.environ))
    assert done.returncode == -9
    assert found(fresh(ledger(tmp_path)), *range(50)) == {n: rows(n) for n in range(50)}


def test_attempts_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    book = ledger(tmp_path)

    def attempt(name: str) -> None:
        write(book, *range(40), attempt=name)

    threads = [threading.Thread(target=attempt, args=("same",)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index = fresh(book)
    assert len(index) == 240
    assert found(index, *range(40)) == {n: rows(n) for n in range(40)}
    assert index.damaged == []


@settings(max_examples=40)
@given(
    batches=st.lists(st.lists(st.integers(0, 60), max_size=8), max_size=12),
    asked=st.lists(st.integers(0, 80), max_size=40),
    cut=st.floats(0, 1),
)
def test_a_ledger_is_a_dict_that_may_forget_its_end(
    batches: list[list[int]], asked: list[int], cut: float, tmp_path_factory: Any
) -> None:
    book = ledger(tmp_path_factory.mktemp("ledger"))
    writer = book.writer("0")
    for batch in batches:
        writer.append([key(number) for number in batch], lists(*batch))
    writer.close()
    written = [number for batch in batches for number in batch]
    index = fresh(book)
    assert found(index, *asked) == {n: rows(n) for n in asked if n in written}
    if written:
        path = Path(book.path, book.fingerprint, writer._name)
        os.truncate(path, int(path.stat().st_size * cut))
        some = found(fresh(book), *range(81))
        assert all(number in written and rows(number) == some[number] for number in some)


# --- stores where a file is there once it is closed


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_where_files_cannot_be_appended_to_segments_are_small(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    book = ledger(f"memory://{tmp_path.name}")
    place = Place(book.path, book.fingerprint)
    assert not place.appendable
    clock = Clock()
    writer = LedgerWriter(place, "0", clock_s=clock)
    writer.append([key(1)], lists(1))
    writer.append([key(2)], lists(2))
    assert place.segments() == []
    clock.now = 2.0
    writer.flush_if_old()
    assert len(place.segments()) == 1
    writer.append([key(3)], lists(3))
    clock.now = 3.0
    writer.flush_if_old()
    assert len(place.segments()) == 1
    writer.close()
    writer.close()
    assert len(place.segments()) == 2
    assert found(fresh(book), 1, 2, 3) == {n: rows(n) for n in (1, 2, 3)}
    assert book.compact(idle=0).segments_after == 1
    assert found(fresh(book), 1, 2, 3) == {n: rows(n) for n in (1, 2, 3)}
