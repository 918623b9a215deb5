"""Tables on disk are nobody's but their holder's, and never those of another state."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flinkish.spark.table_files import PrivateTable, TableFiles, boot_id, new_nonce


@pytest.fixture
def files(tmp_path: Path) -> TableFiles:
    return TableFiles("query", "operator", str(tmp_path))


def filled(table: PrivateTable, text: str) -> PrivateTable:
    (table.path / "text").write_text(text)
    return table


def home(root: Path, key_group: int = 0) -> Path:
    return root / boot_id() / "query" / "operator" / str(key_group)


def names(root: Path, key_group: int = 0) -> list[str]:
    return sorted(path.name for path in home(root, key_group).iterdir())


def test_published_tables_are_claimed_once(files: TableFiles, tmp_path: Path) -> None:
    files.publish(filled(files.create(0), "one"), "n1")
    assert names(tmp_path) == ["n1"]
    assert files.claim(1, "n1") is None
    assert files.claim(0, "n0") is None
    mine = files.claim(0, "n1")
    assert mine is not None
    assert (mine.path / "text").read_text() == "one"
    assert files.claim(0, "n1") is None, "a second task finds nothing"
    files.discard(mine)
    assert names(tmp_path) == []


def test_a_rollback_finds_nothing(files: TableFiles, tmp_path: Path) -> None:
    files.publish(files.create(0), "n1")
    table = files.claim(0, "n1")
    assert table is not None
    files.publish(table, "n2")  # and then Spark rolls the batch back
    assert files.claim(0, "n1") is None
    files.publish(filled(files.create(0), "rebuilt"), "n3")
    assert names(tmp_path) == ["n3"], "what the failed attempt left is gone"


def test_two_that_put_back_the_same_state(files: TableFiles, tmp_path: Path) -> None:
    files.publish(filled(files.create(0), "claimed"), "n1")
    zombie = files.claim(0, "n1")
    assert zombie is not None
    files.publish(filled(files.create(0), "rebuilt"), "n1")
    files.publish(zombie, "n1")
    assert names(tmp_path) == ["n1"]
    kept = files.claim(0, "n1")
    assert kept is not None
    assert (kept.path / "text").read_text() in ("claimed", "rebuilt")


def test_private_tables_of_the_dead_go_and_those_of_the_living_stay(
    files: TableFiles, tmp_path: Path, environment: dict[str, str]
) -> None:
    code = (
        "import sys; from flinkish.spark.table_files import TableFiles;"
        "print(TableFiles('query', 'operator', sys.argv[1]).create(0).path)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    dead = Path(done.stdout.strip())
    assert dead.is_dir()
    living = files.create(0)
    (home(tmp_path) / ".trash-1").mkdir()
    files.publish(files.create(0), "n1")
    assert names(tmp_path) == sorted([living.path.name, "n1"])


def test_what_is_old_is_collected(files: TableFiles, tmp_path: Path) -> None:
    files.publish(files.create(0), "n1")
    week = 8 * 24 * 3600
    for query, age in (("gone", week), ("recent", 60)):
        TableFiles(query, "operator", str(tmp_path)).create(3)
        base = tmp_path / boot_id() / query
        for path in [*base.glob("*/*"), *base.glob("*"), base]:
            os.utime(path, (time.time() - age,) * 2)
    for path in [*home(tmp_path).parent.glob("*"), home(tmp_path).parent]:
        os.utime(path, (time.time() - week,) * 2)
    (tmp_path / "another-boot" / "query" / "operator" / "0" / "n7").mkdir(parents=True)
    assert files.collect() == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [boot_id()]
    assert sorted(path.name for path in (tmp_path / boot_id()).iterdir()) == ["query", "recent"]
    assert files.claim(0, "n1") is not None


@pytest.mark.parametrize("uid", ["a/b", "..", "../../up", "ä b", "."])
def test_any_name_of_an_operator_is_one_directory(tmp_path: Path, uid: str) -> None:
    files = TableFiles("query", uid, str(tmp_path))
    files.publish(files.create(0), "n1")
    assert len(list((tmp_path / boot_id() / "query").glob("*/0/n1"))) == 1


def claim_and_publish(root: str, worker: int, rounds: int) -> list[str]:
    """Tasks of one worker: claim what was published last, or build; complaints, if any."""
    files = TableFiles("query", "operator", root)
    last = Path(root, "last")
    complaints = []
    for turn in range(rounds):
        nonce = last.read_text() if last.exists() else "none"
        table = files.claim(0, nonce)
        if table is None:
            table = files.create(0)
        elif (table.path / "text").read_text() != nonce:
            complaints.append(f"{nonce} holds {(table.path / 'text').read_text()}")
        fresh = new_nonce("races-")
        filled(table, fresh)
        if turn % 5 == worker % 5:
            files.discard(table)
            continue
        files.publish(table, fresh)
        swap = Path(root, f"last{worker}")
        swap.write_text(fresh)
        swap.rename(last)
    return complaints


def _threads(run: Callable[[int], list[str]], count: int) -> list[str]:
    with ThreadPoolExecutor(count) as pool:
        return [text for found in pool.map(run, range(count)) for text in found]


@pytest.mark.stress
def test_races(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert _threads(lambda worker: claim_and_publish(root, worker, 80), 6) == []
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.starmap(claim_and_publish, [(root, worker, 80) for worker in range(3)])
        pool.close()
        pool.join()
    assert found == [[], [], []]
    TableFiles("query", "operator", root).publish(
        TableFiles("query", "operator", root).create(0), "races-end"
    )
    assert names(tmp_path) == ["races-end"]


@pytest.mark.stress
def test_one_of_many_claims(files: TableFiles) -> None:
    count = 8
    barrier = threading.Barrier(count)
    for turn in range(30):
        files.publish(files.create(turn), "n")

        def claim(_: int, turn: int = turn) -> bool:
            barrier.wait()
            return files.claim(turn, "n") is not None

        with ThreadPoolExecutor(count) as pool:
            assert sum(pool.map(claim, range(count))) == 1
