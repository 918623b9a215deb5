"""Segments of a ledger become one: each result once, in order, damaged ones aside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from flinkish._core.values.codec import seal
from flinkish.common.errors import IncompatibleStateError
from flinkish.spark.results import KEY_BYTES
from flinkish.spark.results.segments import FORMAT_VERSION, KIND_KEYS
from tests.spark.parts.test_ledger import found, fresh, key, ledger, lists, rows, write


def test_compaction_keeps_every_result_once(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    write(book, *range(10))
    write(book, *range(5, 15), attempt="1")
    writing = book.writer("2")
    writing.append([key(20)], lists(20))
    report = book.compact()
    assert (report.segments_before, report.segments_after) == (3, 2)
    assert (report.results, report.duplicates, report.damaged) == (15, 5, ())
    writing.append([key(21)], lists(21))
    writing.close()
    index = fresh(book)
    assert len(index) == 17
    there = [*range(15), 20, 21]
    assert found(index, *there) == {n: rows(n) for n in there}
    assert book.compact().segments_after == 1
    assert book.compact() == book.compact()
    names = os.listdir(Path(book.path, book.fingerprint))
    assert len(names) == 1


def test_compaction_keeps_results_that_differ(tmp_path: Path) -> None:
    """The first may be one that a retry of today does not take."""
    book = ledger(tmp_path)
    for attempt, number in enumerate((1, 2, 1, 4)):  # which orders those of one millisecond
        writer = book.writer(str(attempt))
        writer.append([key(1)], lists(number))
        writer.close()

    def given(*refused: int) -> list[tuple[Any, ...]] | None:
        unwanted = [rows(number) for number in refused]
        return fresh(book).get(key(1), lambda result: result not in unwanted)

    asked = [(), (1,), (2,), (1, 2), (1, 2, 4)]
    before = [given(*refused) for refused in asked]
    assert before[0] == rows(1)
    assert len({str(result) for result in before[:2]}) == 2, "there are several"
    assert before[-2:] == [rows(4), None]
    report = book.compact()
    assert (report.segments_after, report.results, report.duplicates) == (1, 3, 1)
    assert [given(*refused) for refused in asked] == before


@pytest.mark.parametrize("read", ["look through", "compact"])
def test_a_segment_of_a_later_flinkish_is_refused_by_name(tmp_path: Path, read: str) -> None:
    """No call is made again for it, and nothing is put aside as damaged."""
    book = ledger(tmp_path)
    write(book, 1)
    path = write(book, 2)
    whole = path.read_bytes()
    path.write_bytes(seal(KIND_KEYS, FORMAT_VERSION + 1, 0, bytes(KEY_BYTES)) + whole)
    with pytest.raises(IncompatibleStateError) as caught:
        fresh(book) if read == "look through" else book.compact()
    said = str(caught.value)
    assert said.startswith(f"segment {path.name} of the ledger at {tmp_path} was written by")
    assert "Nothing is damaged" in said
    assert path.exists()


def test_compaction_puts_damaged_segments_aside(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    path = write(book, 1, 2, 3)
    write(book, 4)
    whole = path.read_bytes()
    path.write_bytes(whole[:-70] + bytes([whole[-70] ^ 1]) + whole[-69:])
    report = book.compact()
    assert [damage.segment for damage in report.damaged] == [path.name]
    index = fresh(book)
    assert sorted(found(index, 1, 2, 3, 4)) == [1, 2, 4]
    assert index.damaged == []
    assert path.with_suffix(".damaged").exists()


def test_a_reader_from_before_a_compaction_misses_and_goes_on(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    write(book, 1)
    write(book, 2)
    index = fresh(book)
    book.compact()
    assert found(index, 1, 2) == {}
    assert {damage.reason for damage in index.damaged} == {"the file is gone"}
    index.refresh()
    assert found(index, 1, 2) == {1: rows(1), 2: rows(2)}
