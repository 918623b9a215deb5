"""Reports of tasks, as files."""

import threading
from pathlib import Path
from typing import Any

import pytest

from flinkish.spark.calls import reports
from flinkish.spark.calls.progress import CallProgress
from flinkish.spark.calls.reports import IN_FLIGHT, Report, Reporter, ReportPlace
from flinkish.spark.control_plane import Attempt
from tests.waiting import until


def attempt(epoch: int, task: int, *, query: str = "q", partition: int = 0) -> Attempt:
    return Attempt("app", query, query or "stage-1", epoch, 1, "ask", partition, 0, task)


def counts(rows: int, in_flight: int = 0) -> dict[str, int]:
    return {"rows": rows, IN_FLIGHT: in_flight}


@pytest.fixture
def place(tmp_path: Path) -> ReportPlace:
    return ReportPlace(str(tmp_path / "reports"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_INTERVAL_S", 0.005)


def totals(place: ReportPlace) -> dict[str, int]:
    (name,) = place.files()
    found = place.read(name)
    assert found is not None
    return found.totals


def test_a_task_reports_while_it_runs_and_at_its_end(place: ReportPlace) -> None:
    now = counts(1, 1)
    with Reporter(place, attempt(0, 5), lambda: now):
        until(lambda: place.files())
        until(lambda: totals(place) == {"rows": 1, IN_FLIGHT: 1})
        now = counts(9, 4)
        until(lambda: totals(place)["rows"] == 9)
        now = counts(10, 4)
    assert totals(place) == {"rows": 10, IN_FLIGHT: 0}, "nothing is under way after the end"
    assert not [one for one in threading.enumerate() if one.name == "ask-reports"]


def test_earlier_epochs_are_added_and_earlier_attempts_are_not(place: ReportPlace) -> None:
    for epoch, task, rows, total in [
        (0, 1, 10, 10),
        (0, 2, 7, 7),  # the attempt before failed
        (1, 3, 5, 12),
        (1, 4, 6, 13),
        (1, 5, 6, 13),
        (4, 6, 1, 14),  # the epochs between had no rows here
    ]:
        with Reporter(place, attempt(epoch, task), lambda rows=rows: counts(rows)):
            pass
        assert totals(place)["rows"] == total


def test_a_late_attempt_writes_nothing(place: ReportPlace) -> None:
    """One that Spark believes dead goes on beside the next one, and ends after it."""
    old, new = counts(3), counts(4)
    with Reporter(place, attempt(2, 7), lambda: old) as late:
        until(lambda: place.files())
        with Reporter(place, attempt(2, 8), lambda: new):
            until(lambda: late._late)
    assert totals(place)["rows"] == 4
    with Reporter(place, attempt(1, 9), lambda: counts(100)):
        pass
    assert totals(place)["rows"] == 4, "of an earlier epoch, too"


def test_partitions_and_runs_have_reports_of_their_own(place: ReportPlace) -> None:
    for one in (attempt(0, 1), attempt(0, 2, partition=1), attempt(0, 3, query="")):
        with Reporter(place, one, lambda: counts(1)):
            pass
    assert len(place.files()) == 3


def test_it_goes_on_when_the_directory_comes_back(
    place: ReportPlace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write, refused = ReportPlace.write, [True]

    def may_fail(self: ReportPlace, name: str, report: Report) -> None:
        if refused[0]:
            raise OSError("no such service")
        write(self, name, report)

    monkeypatch.setattr(ReportPlace, "write", may_fail)
    with Reporter(place, attempt(0, 5), lambda: counts(2)):
        until(lambda: caplog.records)
        refused[0] = False
        until(lambda: place.files())
    assert totals(place)["rows"] == 2
    assert len(caplog.records) == 1, "it is said once"
    assert "operator 'ask', partition 0" in caplog.text
    assert "no such service" in caplog.text


def test_counts_that_change_as_they_are_read(place: ReportPlace) -> None:
    calls: list[int] = []

    def read() -> dict[str, int]:
        calls.append(0)
        if len(calls) % 2 == 0:
            raise RuntimeError("dictionary changed size during iteration")
        return counts(len(calls))

    with Reporter(place, attempt(0, 5), read):
        until(lambda: len(calls) > 6)
    assert totals(place)["rows"] >= 7


def test_reports_of_tasks_that_ended_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    by_name = ReportPlace.read

    def seen(self: ReportPlace, name: str) -> Report | None:
        read.append(name)
        return by_name(self, name)

    progress = CallProgress(tmp_path)
    for partition in range(3):
        with Reporter(progress._place, attempt(0, 1, partition=partition), lambda: counts(1)):
            pass
    monkeypatch.setattr(ReportPlace, "read", seen)
    assert [progress.statistics()["rows"] for _ in range(3)] == [3, 3, 3]
    assert len(read) == 3
    with Reporter(progress._place, attempt(1, 2), lambda: counts(4)):
        until(lambda: progress.statistics()["rows"] == 7)
    assert len(read) > 3


def test_half_a_report_is_none(place: ReportPlace, tmp_path: Path) -> None:
    place.write("a.json", Report("ask", 0, 1, {"rows": 1}, {}))
    file = tmp_path / "reports" / "a.json"
    file.write_bytes(file.read_bytes()[:-3])
    assert place.read("a.json") is None
    assert place.read("b.json") is None
    assert list(place.files()) == ["a.json"]


def test_on_another_file_system() -> None:
    pytest.importorskip("fsspec")
    place: Any = ReportPlace("memory://flinkish-reports/x")
    assert place.files() == {}
    place.write("a.json", Report("ask", 0, 1, {"rows": 1}, {"rows": 2}))
    place.write("a.json", Report("ask", 0, 1, {"rows": 3}, {"rows": 2}))
    assert place.read("a.json").totals == {"rows": 5, IN_FLIGHT: 0}
