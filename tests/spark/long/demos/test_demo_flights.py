"""The demonstration on real flights, on a month of some aircraft, and the parts it stands on."""

import io
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

import tests
from flinkish.testing import ProcessFunctionTestHarnesses
from tests.spark import demos

pytestmark = pytest.mark.spark

ROOT = Path(tests.__file__).resolve().parents[1]
# Flights of January by every 80th aircraft, by six that fly to Honolulu, by some that were
# diverted, and a quarter of those that were cancelled before they had an aircraft.
JANUARY = Path(__file__).with_name("flights_of_january.csv")
DAY = 86_400_000


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with demos.parts("flights", monkeypatch) as modules:
        yield modules


def test_the_stream_gives_what_pandas_gives(
    tmp_path: Path, environment: dict[str, str], part: Any
) -> None:
    options = ["--csv", str(JANUARY), "--out", str(tmp_path / "out")]
    options += ["--days-per-batch", "4", "--threshold-days", "5"]
    done = demos.run("flights", environment, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    check, data = part("check"), part("data")
    flights = data.read_flights(JANUARY)
    want = check.expected(
        flights,
        data.days_of_reports(flights),
        days_per_batch=4,
        threshold=pd.Timedelta(days=5),
        wait=pd.Timedelta(hours=6),
    )
    # The month has something of everything.
    assert min(len(want.alerts), len(want.returned), want.armed, want.without_tailnum) > 20
    assert len(want.late) > 3
    line = f"Right: {len(want.alerts)} alerts, {len(want.returned)} returns and {len(want.late)}"
    assert line in done.stdout
    assert "timers registered" in done.stdout
    assert (tmp_path / "out/alerts.png").read_bytes().startswith(b"\x89PNG")
    assert "Warning" not in done.stdout


def test_differing_rows_are_shown(part: Any) -> None:
    differences = part("check").differences
    at = pd.to_datetime(["2013-01-01T00:00Z", "2013-01-02T00:00Z", "2013-01-02T00:00Z"])
    want = pd.DataFrame({"tailnum": ["a", "b", "b"], "at": at, "hours": [1, 2, 2]})
    same = want.iloc[::-1].astype({"hours": "int32", "at": "datetime64[ms, UTC]"})
    assert differences(want, same).empty
    once = differences(want, want.iloc[:2])
    assert once[["tailnum", "hours", "found"]].to_numpy().tolist() == [["b", 2, "only pandas"]]
    other = differences(want, want.assign(hours=[1, 2, 3]))
    assert other["found"].tolist() == ["only pandas", "only the stream"]
    assert other["hours"].tolist() == [2, 3]


def test_a_wrong_row_and_a_wrong_count_make_the_verdict(part: Any) -> None:
    at = pd.to_datetime(["2013-01-01T00:00Z", "2013-01-02T00:00Z"])
    rows = pd.DataFrame({"tailnum": ["N1", "N2"], "at": at})
    want = part("check").Expected(
        alerts=rows,
        returned=rows,
        late=rows,
        without_tailnum=5,
        registered=9,
        cancelled=6,
        armed=1,
        watermark=at[1],
    )
    got = {"alerts": rows, "returned": rows, "late": rows}
    counted = {
        "null_keys": 5,
        "late_rows": 2,
        "timers_registered": 9,
        "timers_deleted": 6,
        "timers_fired": 2,
    }

    def verdict(**changes: Any) -> tuple[bool, str]:
        out = io.StringIO()
        console = Console(file=out, width=200)
        right = part("main").agrees(
            console,
            {name: changes.get(name, table) for name, table in got.items()},
            {name: changes.get(name, count) for name, count in counted.items()},
            want,
        )
        return right, out.getvalue()

    assert verdict() == (True, "")
    right, shown = verdict(late=rows.replace("N2", "N3"))
    assert not right
    assert "WRONG: of late, 2 rows are not in both" in shown
    assert "N3 2013-01-02 00:00:00+00:00 only the stream" in shown
    assert verdict(timers_fired=3) == (False, "WRONG: timers_fired is 3; pandas has 2\n")


def test_files_are_read_in_the_order_of_reports(tmp_path: Path, part: Any) -> None:
    data = part("data")
    flights = data.read_flights(JANUARY)
    days = data.days_of_reports(flights)
    departed = flights["time_hour"].dt.floor("D")
    assert (days >= departed - pd.Timedelta(days=1)).all()
    assert (days > departed).any(), "some are reported a day after they left"
    paths = data.write_files(flights, days, tmp_path / "arriving")
    assert [path.stem for path in paths] == sorted(f"{day:%Y-%m-%d}" for day in days.unique())
    ages = [path.stat().st_mtime for path in paths]
    assert ages == sorted(set(ages))
    read = pd.concat(pd.read_parquet(path) for path in paths)
    assert len(read) == len(flights)
    assert read["tailnum"].isna().sum() == flights["tailnum"].isna().sum()


def test_a_wrong_or_missing_archive_is_refused(tmp_path: Path, part: Any) -> None:
    data = part("data")
    (tmp_path / data.ARCHIVE).write_text("no archive")
    with pytest.raises(data.DataError, match=r"has SHA-256 .*; delete it and run again"):
        data.fetch(tmp_path)


def test_one_aircraft(part: Any) -> None:
    """The switch by itself: moved, overtaken, fired, come back, late, cancelled."""
    switch = part("dead_man_switch")

    def at(day: float) -> int:
        return int(day * DAY)

    def when(day: float) -> datetime:
        return datetime.fromtimestamp(day * 86400, timezone.utc)

    def flight(number: int, dep_time: int | None = 900) -> SimpleNamespace:
        return SimpleNamespace(
            tailnum="N1",
            carrier="ZZ",
            flight=number,
            origin="JFK",
            dest=f"D{number}",
            dep_time=dep_time,
        )

    harness = ProcessFunctionTestHarnesses.for_keyed_process_function(
        switch.DeadManSwitch(7 * DAY), lambda row: row.tailnum
    )
    with harness:
        harness.process_element(flight(1), at(1))
        harness.process_element(flight(2), at(3))
        harness.process_element(flight(3), at(2))  # overtaken by flight 2
        harness.process_element(flight(4, None), at(5))  # cancelled
        assert harness.num_event_time_timers() == 1
        harness.process_watermark(at(10) - 1)
        assert harness.extract_output_values() == []
        harness.process_watermark(at(11))
        assert harness.extract_output_values() == [
            ("N1", "ZZ", "JFK", "D2", when(3), when(10), 192)  # noticed on day 11
        ]
        assert harness.num_event_time_timers() == 0

        harness.process_element(flight(5), at(11))  # the watermark is there already
        harness.process_element(flight(6), at(12.5))
        late = [record.value for record in harness.get_side_output(switch.LATE)]
        assert late == [("N1", "ZZ", 5, "JFK", "D5", when(11), 0)]
        back = [record.value for record in harness.get_side_output(switch.RETURNED)]
        assert back == [("N1", "ZZ", when(3), when(12.5), 228)]
        harness.process_element(flight(7), at(13))
        assert len(harness.get_side_output(switch.RETURNED)) == 1
        assert harness.num_event_time_timers() == 1


def test_unknown_demonstrations_are_named(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", str(ROOT / "ci/demo.sh"), "trains"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "there is no demonstration trains; there are: flights" in done.stderr
