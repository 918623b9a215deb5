"""Tables on disk are nobody's but their holder's, and never those of another state."""

import contextlib
import fcntl
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flinkish.spark.tables import PrivateTable, TableFiles, new_nonce, private
from flinkish.spark.tables.root import Root, boot_id, open_own, open_root
from tests.processes import python_path
from tests.spark.patience import until


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    """Discard the tables that a test still holds at its end."""
    yield
    for table in list(private._held):
        table.discard()


@pytest.fixture
def files(tmp_path: Path) -> TableFiles:
    return TableFiles("query", "operator", str(tmp_path))


def place(table: PrivateTable | None) -> Path:
    assert table is not None
    assert table.path is not None
    return table.path


def filled(table: PrivateTable, text: str) -> PrivateTable:
    (place(table) / "text").write_text(text)
    return table


ROOT = f"flinkish-{os.geteuid()}-{boot_id()}"


def home(root: Path, key_group: int = 0) -> Path:
    return root / ROOT / "query" / "operator" / str(key_group)


def names(root: Path, key_group: int = 0) -> list[str]:
    return sorted(path.name for path in home(root, key_group).iterdir())


def test_published_tables_are_claimed_once(files: TableFiles, tmp_path: Path) -> None:
    files.publish(filled(files.create(0), "one"), "n1")
    assert names(tmp_path) == ["n1"]
    assert files.claim(1, "n1") is None
    assert files.claim(0, "n0") is None
    mine = files.claim(0, "n1")
    assert mine is not None
    assert (place(mine) / "text").read_text() == "one"
    assert files.claim(0, "n1") is None, "a second task finds nothing"
    mine.discard()
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
    assert (place(kept) / "text").read_text() in ("claimed", "rebuilt")


def test_private_tables_of_the_dead_go_and_those_of_the_living_stay(
    files: TableFiles, tmp_path: Path, environment: dict[str, str]
) -> None:
    code = (
        "import sys; from flinkish.spark.tables import TableFiles;"
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
    assert names(tmp_path) == sorted([place(living).name, "n1"])


def used(path: Path, seconds_ago: float) -> None:
    os.utime(path, (time.time() - seconds_ago,) * 2)


def test_what_is_old_is_collected(files: TableFiles, tmp_path: Path) -> None:
    """Also inside of a query that lives: its key groups may have moved to other workers."""
    for key_group, query, age in ((0, "query", 7200), (1, "query", 60), (3, "gone", 7200)):
        table = TableFiles(query, "operator", str(tmp_path))
        table.publish(table.create(key_group), "n1")
        used(tmp_path / ROOT / query / "operator" / str(key_group) / "n1", age)
    held = place(claimed := files.create(2))
    used(held, 7200)
    earlier = tmp_path / f"flinkish-{os.geteuid()}-another-boot"
    (earlier / "query" / "operator" / "0" / "n7").mkdir(parents=True)
    earlier.chmod(0o700)
    assert files.collect() == 3
    assert files.collect(every_s=0) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [ROOT]
    assert sorted(path.name for path in home(tmp_path).parent.iterdir()) == ["1", "2"]
    assert [path.name for path in (tmp_path / ROOT).glob("[!.]*")] == ["query"]
    assert claimed.held
    assert held.is_dir(), "what a process holds is never removed"
    assert files.claim(1, "n1") is not None


def test_it_is_collected_once_in_a_while(files: TableFiles, tmp_path: Path) -> None:
    assert files.collect() == 0
    files.publish(files.create(0), "n1")
    used(home(tmp_path) / "n1", 7200)
    assert files.collect() == 0, "this process has looked"
    assert files.collect(every_s=0) == 1


def test_an_earlier_boot_that_somebody_still_uses(files: TableFiles, tmp_path: Path) -> None:
    """As on a file system that several machines share."""
    other = tmp_path / f"flinkish-{os.geteuid()}-another-machine"
    other.mkdir(0o700)
    used_by_others = open_own(str(other), fcntl.LOCK_SH)
    assert used_by_others is not None
    assert files.collect(every_s=0) == 0
    os.close(used_by_others)
    assert files.collect(every_s=0) == 1
    assert not other.exists()


def test_the_tables_used_last_stay_when_they_are_too_many(tmp_path: Path) -> None:
    files = TableFiles("query", "operator", str(tmp_path), most_bytes=3 * 8192)
    for key_group in range(6):
        table = files.create(key_group)
        (place(table) / "header").write_bytes(b"x" * 8192)
        files.publish(table, "n1")
        used(home(tmp_path, key_group) / "n1", 600 - 100 * ((key_group * 5) % 6))
    held = files.claim(0, "n1")  # the oldest, which counts, but stays
    used(place(held), 3000)
    files.collect(every_s=0)
    ages = sorted((600 - 100 * ((key_group * 5) % 6), key_group) for key_group in range(1, 6))
    young = {key_group for _, key_group in ages[:2]}
    assert {group for group in range(1, 6) if files.claim(group, "n1") is not None} == young
    assert place(held).is_dir()


def test_local_directories_share_the_key_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = [tmp_path / name for name in "abc"]
    for parent in parents:
        (parent / "blockmgr-1").mkdir(parents=True)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(f"{path}/blockmgr-1" for path in parents))

    def spread(count: int = 60) -> dict[int, Path]:
        files = TableFiles("query", "operator")
        made = {group: place(files.create(group)).parents[4] for group in range(count)}
        files.publish(files.create(99), "n99")
        return made

    first = spread()
    assert {sum(at == parent for at in first.values()) > 5 for parent in parents} == {True}
    assert spread() == first, "each process finds the same order"
    assert TableFiles("query", "operator").claim(99, "n99") is not None
    shutil.rmtree(parents[1])
    less = spread()
    assert parents[1] not in less.values()
    assert {g: at for g, at in less.items() if first[g] != parents[1]} == {
        g: at for g, at in first.items() if at != parents[1]
    }, "only the key groups of the one that is gone have moved"


def test_a_full_directory_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/a,{tmp_path}/b")
    monkeypatch.setattr(Root, "has_room", lambda root, size: "/a/" not in root.path)
    files = TableFiles("query", "operator")
    assert {place(files.create(group)).parents[4].name for group in range(8)} == {"b"}
    monkeypatch.setattr(Root, "has_room", lambda root, size: False)
    table = files.create(0)
    assert table.open(create=True) == [-1] * 12
    files.publish(table, "n1")
    table.discard()
    assert files.claim(0, "n1") is None
    monkeypatch.undo()
    root = open_root(str(tmp_path))
    assert root is not None
    assert root.has_room(0)
    assert not root.has_room(1 << 60)


def test_a_root_that_is_deleted_is_made_anew(files: TableFiles, tmp_path: Path) -> None:
    files.publish(files.create(0), "n1")
    shutil.rmtree(tmp_path / ROOT)
    assert files.claim(0, "n1") is None
    files.publish(files.create(0), "n2")
    assert names(tmp_path) == ["n2"]


def spoil(root: Path, how: str, aside: Path) -> None:
    """Put something in the place of a root that must not be used."""
    aside.mkdir(0o700)
    if how == "link":
        root.symlink_to(aside)
    elif how == "file":
        root.write_text("")
    else:
        root.mkdir()
        root.chmod(0o777 if how == "open" else 0o700)
        if how == "another's":
            os.chown(root, os.geteuid() + 1, -1)


@pytest.mark.parametrize("how", ["link", "file", "open", "another's"])
def test_a_root_that_others_may_enter_is_not_used(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    if how == "another's" and os.geteuid() != 0:
        return  # only the superuser can give a directory away
    local = tmp_path / "local"
    local.mkdir()
    spoil(local / ROOT, how, tmp_path / "aside")
    files = [TableFiles("query", "operator", str(local)) for _ in range(3)]
    table = filled(files[0].create(0), "mine")
    root = place(table).parents[3]
    assert root.name.startswith(f"{ROOT}-")
    status = root.stat()
    assert (status.st_uid, status.st_mode & 0o777) == (os.geteuid(), 0o700)
    files[0].publish(table, "n1")
    assert (place(files[1].claim(0, "n1")) / "text").read_text() == "mine", "all use the same one"
    assert len(list(local.iterdir())) == 2
    assert list((tmp_path / "aside").iterdir()) == []
    assert [record.message for record in caplog.records if str(local) in record.message] == [
        f"{local / ROOT} is not a directory of this user alone (owner {os.geteuid()}, mode 0700, "
        f"no link, on a file system with locks), so tables go to another one in {local}; remove "
        "it, or name a directory of your own in StateSettings(table_dir=...)"
    ]


def test_a_root_that_is_exchanged_later_is_not_entered(files: TableFiles, tmp_path: Path) -> None:
    """The directory that was checked is used, whatever its name now stands for."""
    table = filled(files.create(0), "mine")
    (tmp_path / ROOT).rename(tmp_path / "moved")
    (tmp_path / "trap").mkdir()
    (tmp_path / ROOT).symlink_to(tmp_path / "trap")
    files.publish(table, "n1")
    mine = files.claim(0, "n1")
    assert mine is not None
    assert not list((tmp_path / "trap").iterdir())
    for descriptor in mine.open(create=True):
        os.close(descriptor)
    files.publish(mine, "n1")
    assert (tmp_path / "moved" / "query" / "operator" / "0" / "n1" / "header").exists()


def test_a_child_does_not_keep_what_its_parent_held(files: TableFiles, tmp_path: Path) -> None:
    """T2: nor can it remove it, or unlock it for its parent."""
    table = files.create(0)
    done, go_on = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            table.discard()
            files.publish(table, "stolen")
            os.close(go_on)
            os.read(done, 1)  # until the parent is done
        finally:
            os._exit(0)
    os.close(done)
    try:
        until(lambda: not locked_by(child, place(table)))
        assert files.collect(every_s=0) == 0
        assert place(table).is_dir()
        files.publish(table, "n1")
        assert names(tmp_path) == ["n1"]
        assert files.claim(0, "n1") is not None
    finally:
        os.close(go_on)
        os.waitpid(child, 0)


def locked_by(process: int, path: Path) -> bool:
    """Whether a process has a directory open."""
    folder = f"/proc/{process}/fd"
    found = set()
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"{folder}/{name}"))
    return str(path) in found


def test_the_living_are_known_without_their_numbers(files: TableFiles, tmp_path: Path) -> None:
    """As for processes in other containers, whose numbers say nothing here."""
    code = (
        "import sys; from flinkish.spark.tables import TableFiles;"
        "held = TableFiles('query', 'operator', sys.argv[1]).create(0);"
        "print(held.path, flush=True); sys.stdin.read()"
    )
    unshared = ["unshare", "--pid", "--fork"] if os.geteuid() == 0 else []
    with subprocess.Popen(
        [*unshared, sys.executable, "-W", "ignore", "-c", code, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": python_path()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        held = Path(process.stdout.readline().strip())
        used(held, 30 * 24 * 3600)
        files.publish(files.create(0), "n1")
        files.collect(every_s=0)
        assert held.is_dir()
        process.communicate()
    files.collect(every_s=0)
    assert not held.exists()


@pytest.mark.parametrize("uid", ["a/b", "..", "../../up", "ä b", "."])
def test_any_name_of_an_operator_is_one_directory(tmp_path: Path, uid: str) -> None:
    files = TableFiles("query", uid, str(tmp_path))
    files.publish(files.create(0), "n1")
    assert len(list((tmp_path / ROOT / "query").glob("*/0/n1"))) == 1


def claim_and_publish(root: str, worker: int, rounds: int) -> list[str]:
    """Tasks of one worker: claim what was published last, or build; complaints, if any."""
    files = TableFiles("query", "operator", root, keep_s=0.01, most_bytes=4096)
    last = Path(root, "last")
    complaints = []
    for turn in range(rounds):
        nonce = last.read_text() if last.exists() else "none"
        table = files.claim(0, nonce)
        if turn % 7 == worker % 7:
            files.collect(every_s=0)
        if table is None:
            # Where others collect all the time, a few attempts may end in memory.
            table = next(one for one in iter(lambda: files.create(0), None) if one.path)
        elif (place(table) / "text").read_text() != nonce:
            complaints.append(f"{nonce} holds {(place(table) / 'text').read_text()}")
        fresh = new_nonce("races-")
        filled(table, fresh)
        files.collect(every_s=0)
        if (place(table) / "text").read_text() != fresh:
            complaints.append(f"the table of {fresh} was changed while it was held")
        if turn % 5 == worker % 5:
            table.discard()
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
