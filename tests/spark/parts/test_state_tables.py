"""State whose table cannot be kept on the disk, or is not what its name says."""

import shutil
from pathlib import Path

from tests.disks import full_disk
from tests.spark.parts.test_group_state import COUNT, TEXT, Store


def test_a_table_under_a_wrong_name_is_not_believed(tmp_path: Path) -> None:
    """As when somebody puts back files that he saved before."""
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    (old,) = tmp_path.glob("*/*/*/2/*")
    shutil.copytree(old, tmp_path / "saved")
    store.program(COUNT).set(x=8)
    (new,) = tmp_path.glob("flinkish-*/*/*/2/*")
    shutil.rmtree(new)
    shutil.copytree(tmp_path / "saved", new)
    program = store.program(COUNT)
    assert program.get("x") == [[8]]
    assert program.misses == 1


def test_a_disk_that_fills_up_costs_a_rebuild(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(TEXT).set(x="small")
    with full_disk(16384):
        large = store.program(TEXT)
        large.set(x="large" * 10_000)
    assert large.group.counters["tables_in_memory"] == 1
    assert store.tables == []
    again = store.program(TEXT)
    assert again.get("x") == [["large" * 10_000]]
    assert (again.misses, again.group.counters["tables_in_memory"]) == (1, 0)
    assert store.tables == [store.head.nonce]


def test_without_any_directory_tables_are_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "below")
    for count in range(3):
        program = store.program(COUNT)
        program.set(x=count)
        assert program.group.counters["tables_in_memory"] == 1
    assert store.program(COUNT).get("x") == [[2]]
