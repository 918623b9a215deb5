"""Directories of file sinks: hidden until the batch is committed, then there once, for ever."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from flinkish.common.errors import UnsupportedOperationError
from flinkish.spark.jobs import part_files
from flinkish.spark.jobs.inputs import _escaped
from flinkish.spark.jobs.part_files import PartFiles


class LocalFiles:
    """The file system of Spark, as one of this process."""

    def __init__(self, spark: Any) -> None:
        pass

    def qualified(self, path: str) -> str:
        return f"file:{Path(path).absolute()}"

    def names(self, directory: str) -> list[str]:
        found = Path(directory)
        return sorted(one.name for one in found.iterdir()) if found.exists() else []

    def rename(self, path: str, target: str) -> None:
        assert not Path(target).exists(), "Hadoop would move it into the directory"
        Path(path).rename(target)

    def delete(self, path: str) -> None:
        shutil.rmtree(path)


class Writer:
    """Writes a text where Spark would write rows."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._mode = ""

    def mode(self, mode: str) -> Writer:
        self._mode = mode
        return self

    def save(self, place: str) -> None:
        Path(place).mkdir(parents=True, exist_ok=self._mode != "errorifexists")
        Path(place, "part-00000").write_text(self._text)


class Run:
    """A run of a job, until it is killed; ``name`` stands for its token."""

    def __init__(self, folder: Path, name: str, checkpoint: str = "checkpoint") -> None:
        self.base = str(folder / "out")
        self.files = PartFiles(None, name, str(folder / checkpoint))  # type: ignore[arg-type]

    def round(self, number: int, *texts: str, sinks: str = "ab", job: str = "job") -> None:
        """Each sink writes its text; Spark has committed all rounds before."""
        for sink, text in zip(sinks, texts, strict=False):
            writer: Any = Writer(text)
            self.files.write(writer, self.base, "a-part", job, sink, number)


@pytest.fixture(autouse=True)
def local_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_files, "FilesOfSpark", LocalFiles)


def seen(folder: Path) -> list[str]:
    """What a reader sees, who leaves out hidden directories."""
    found = [one for one in (folder / "out").glob("*/part-*") if one.parent.name[0] != "."]
    return sorted(one.read_text() for one in found)


def hidden(folder: Path) -> list[str]:
    return sorted(one.read_text() for one in (folder / "out/.inprogress").glob("*/part-*"))


def test_two_sinks_share_a_base_path_and_rounds_are_seen_when_committed(tmp_path: Path) -> None:
    run = Run(tmp_path, "one")
    run.round(0, "a0", "b0")
    assert seen(tmp_path) == []
    run.round(1, "a1", "b1")
    assert seen(tmp_path) == ["a0", "b0"]
    run.files.publish(1)
    assert seen(tmp_path) == ["a0", "a1", "b0", "b1"]
    assert hidden(tmp_path) == []


def test_a_round_that_runs_again_is_seen_once(tmp_path: Path) -> None:
    """Killed before Spark's commit, after one of two sinks, whose uids have changed by the next."""
    Run(tmp_path, "one").round(0, "lost")
    Run(tmp_path, "two").round(0, "lost, too", "lost, too")
    again = Run(tmp_path, "three")
    again.round(0, "a0", "b0", sinks="cd")
    again.round(1, "a1", "b1", sinks="cd")
    assert seen(tmp_path) == ["a0", "b0"]
    assert hidden(tmp_path) == ["a1", "b1"]


def test_a_committed_round_is_published_by_the_next_run(tmp_path: Path) -> None:
    """Killed after Spark's commit."""
    Run(tmp_path, "one").round(6, "a6", "b6")
    Run(tmp_path, "two").round(7, "a7")
    assert seen(tmp_path) == ["a6", "b6"]


def test_publish_leaves_what_was_not_committed(tmp_path: Path) -> None:
    run = Run(tmp_path, "one")
    run.round(0, "a0")
    run.round(1, "a1")
    run.files.publish(0)
    assert seen(tmp_path) == ["a0"]
    Run(tmp_path, "two").round(1, "a1 again")
    assert hidden(tmp_path) == ["a1 again"]


def test_two_continuations_of_a_copied_checkpoint_both_write(tmp_path: Path) -> None:
    """Neither sees, publishes or deletes what the other has under way."""
    one, two = Run(tmp_path, "one"), Run(tmp_path, "two", "copy")
    one.round(0, "0")
    one.round(1, "1 one")  # 0 was committed, then the checkpoint was copied
    two.round(1, "1 two")
    assert seen(tmp_path) == ["0"]
    one.round(2, "2 one")
    two.round(2, "2 two")
    two.round(3, "3 two")
    assert seen(tmp_path) == ["0", "1 one", "1 two", "2 two"]
    one.files.publish(2)
    two.files.publish(3)
    assert seen(tmp_path) == ["0", "1 one", "1 two", "2 one", "2 two", "3 two"]


def test_a_checkpoint_that_was_moved_brings_its_last_round(tmp_path: Path) -> None:
    old = Run(tmp_path, "one", "old place")
    old.round(4, "4")
    old.round(5, "5 lost")
    new = Run(tmp_path, "two", "new place")
    new.round(5, "5")
    new.round(6, "6")
    new.round(7, "7")
    assert seen(tmp_path) == ["4", "5", "6"]


def test_other_jobs_and_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    Run(tmp_path, "one").round(0, "other", job="other")
    strange = tmp_path / "out/.inprogress/part-mine"
    strange.mkdir()
    run = Run(tmp_path, "two")
    for number in range(3):
        run.round(number, str(number))
    assert seen(tmp_path) == ["0", "1"]
    assert strange.exists()
    assert hidden(tmp_path) == ["2", "other"]


@pytest.mark.parametrize(
    ("path", "escaped"),
    [
        ("/a b/c%20d:e", "/a b/c%20d:e"),
        ("/d[1]/{a,b}*?\\", "/d\\[1\\]/\\{a,b\\}\\*\\?\\\\"),
        ("hdfs://host:9000/d[1]", "hdfs://host:9000/d\\[1\\]"),
        ("file:/d[1]", "file:/d\\[1\\]"),
        ("/a:b/d[1]", None),
        ("hdfs://host:9000/a:b/d*", None),
    ],
)
def test_a_monitored_path_stands_for_itself(path: str, escaped: str | None) -> None:
    if escaped is not None:
        assert _escaped(path) == escaped
        return
    with pytest.raises(UnsupportedOperationError, match="a colon and one of"):
        _escaped(path)
