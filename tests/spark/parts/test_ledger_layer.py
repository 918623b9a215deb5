"""The ledger around calls: what was written down is not called for again."""

from __future__ import annotations

import asyncio
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common import Row
from flinkish.common.errors import ArgumentTypeError, CheckpointStorageError
from flinkish.operators import TaskRuntimeContext
from flinkish.spark.results import LedgerLayer, ResumeLedger, row_key

SCHEMA = pa.schema([("label", pa.string()), ("at", pa.timestamp("us", "UTC"))])
DAY = datetime(2026, 1, 1, tzinfo=timezone.utc)


def ledger(path: Path | str) -> ResumeLedger:
    return ResumeLedger(str(path), "f", "1", SCHEMA)


class Calls:
    """Counts the calls that are made, and answers them."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.lock = threading.Lock()

    def plain(self, row: Row) -> list[Any]:
        with self.lock:
            self.made.append(row["id"])
        return [(f"l{row['id']}", DAY)] * (row["id"] % 3)

    async def asynchronous(self, row: Row) -> list[Any]:
        await asyncio.sleep(0)
        return self.plain(row)


def run(layer: LedgerLayer, calls: Calls, numbers: range) -> list[Any]:
    async def main() -> list[Any]:
        rows = (Row(id=number) for number in numbers)
        return await asyncio.gather(*(layer.call(calls.asynchronous, row) for row in rows))

    return asyncio.run(main())


def opened(path: Path | str, **options: Any) -> LedgerLayer:
    layer: LedgerLayer = pickle.loads(pickle.dumps(LedgerLayer(ledger(path), **options)))
    layer.open(TaskRuntimeContext(task_name="calls"), lambda: None)
    return layer


def test_a_second_run_calls_for_what_the_first_did_not(tmp_path: Path) -> None:
    calls = Calls()
    first = opened(tmp_path)
    answers = run(first, calls, range(50))
    first.close()
    first.close()
    assert sorted(calls.made) == list(range(50))
    assert first.num_waiting() == first.num_saved() == 0
    second = opened(tmp_path)
    again = run(second, calls, range(80))
    second.close()
    assert again[:50] == answers
    assert sorted(calls.made[50:]) == list(range(50, 80))
    assert second.num_saved() == 50


def test_plain_functions_on_threads(tmp_path: Path) -> None:
    calls = Calls()
    for expected in (40, 40):
        layer = opened(tmp_path)
        with ThreadPoolExecutor(4) as pool:
            rows = [Row(id=number) for number in range(40)]
            answers = pool.map(partial(layer.call_blocking, calls.plain), rows)
            assert [len(answer) for answer in answers] == [number % 3 for number in range(40)]
        layer.close()
        assert len(calls.made) == expected


def test_dicts_rows_and_iterables_are_results_too(tmp_path: Path) -> None:
    async def answer(row: Row) -> Any:
        kinds: list[Any] = [
            [{"at": DAY, "label": "dict"}],
            [Row(label="row", at=DAY)],
            (pair for pair in [("generated", DAY)]),
        ]
        return kinds[row["id"]]

    async def nobody(row: Row) -> Any:
        raise AssertionError("there is a result")

    async def main(function: Any) -> list[Any]:
        layer = opened(tmp_path)
        try:
            return [await layer.call(function, Row(id=number)) for number in range(3)]
        finally:
            layer.close()

    asyncio.run(main(answer))
    again = asyncio.run(main(nobody))
    assert again == [[("dict", DAY)], [("row", DAY)], [("generated", DAY)]]


def test_errors_and_results_to_be_tried_again_are_not_written_down(tmp_path: Path) -> None:
    async def fails(row: Row) -> list[Any]:
        raise OSError("down")

    async def main() -> None:
        layer = opened(tmp_path)
        layer._is_final = lambda results: results != []
        with pytest.raises(OSError, match="down"):
            await layer.call(fails, Row(id=1))
        await layer.call(Calls().asynchronous, Row(id=3))  # gives []
        layer.close()

    asyncio.run(main())
    index = ledger(tmp_path).index()
    assert [index.get(row_key(Row(id=number))) for number in (1, 3)] == [None, None]


def test_a_result_that_does_not_fit_is_left_to_who_makes_columns(tmp_path: Path) -> None:
    async def misfit(row: Row) -> list[Any]:
        return [("l", "no time")] if row["id"] == 2 else [("l", DAY)]

    async def none(row: Row) -> Any:
        return None

    async def main() -> None:
        layer = opened(tmp_path)
        given = await asyncio.gather(*(layer.call(misfit, Row(id=n)) for n in (1, 2, 3)))
        assert given[1] == [("l", "no time")]
        with pytest.raises(ArgumentTypeError, match="gave None"):
            await layer.call(none, Row(id=4))
        layer.close()

    asyncio.run(main())
    index = ledger(tmp_path).index()
    found = [index.get(row_key(Row(id=number))) is not None for number in (1, 2, 3, 4)]
    assert found == [True, False, True, False]


def test_a_ledger_that_cannot_be_written_fails_the_task(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    layer = opened(tmp_path / "none")
    layer._writer._place.directory = str(tmp_path / "file")
    run(layer, Calls(), range(1, 3))
    with pytest.raises(CheckpointStorageError, match="go without ledger="):
        layer.close()


def test_far_files_are_not_read_on_the_loop(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    calls = Calls()
    place = f"memory://{tmp_path.name}"
    for _ in range(2):
        layer = opened(place)
        assert not layer._near
        run(layer, calls, range(20))
        layer.close()
    assert len(calls.made) == 20


def test_far_files_are_read_on_threads_and_what_was_read_is_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec")
    place = f"memory://{tmp_path.name}"
    layer = opened(place)
    run(layer, Calls(), range(300))
    layer.close()
    moved = 0
    to_thread = asyncio.to_thread

    async def counted(*call: Any) -> Any:
        nonlocal moved
        moved += 1
        return await to_thread(*call)

    monkeypatch.setattr(asyncio, "to_thread", counted)
    calls = Calls()
    layer = opened(place)

    async def main() -> None:
        for number in range(400):
            await layer.call(calls.asynchronous, Row(id=number))

    asyncio.run(main())
    layer.close()
    assert sorted(calls.made) == list(range(300, 400))
    assert layer.num_saved() == 300
    assert 1 <= moved <= 5
