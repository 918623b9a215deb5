"""Live figures of async_map, on Spark."""

import io
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession

import flinkish.spark as fs
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.spark.calls.progress import report_place
from tests.spark.progress_functions import FailsOnce, Priced
from tests.waiting import PATIENCE, until

PAIRS = "n bigint, m bigint"


def numbers(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    return spark.range(0, count, 1, partitions).withColumnRenamed("id", "n")


def in_background(action: Any) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def test_figures_while_calls_are_made_and_after(spark: SparkSession, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    observation = Observation("exact")
    with fs.CallProgress() as progress:
        frame = fs.async_map(
            numbers(spark, 40),
            Priced(gate, at_once=10),
            PAIRS,
            on_error="drop",
            observation=observation,
            progress=progress,
        )
        assert set(progress.statistics().values()) == {0}, "nothing runs before the action"
        action = in_background(frame.collect)
        until(lambda: progress.statistics()["in_flight"] == 30, "30 calls under way")
        until(lambda: progress.statistics()["results"] == 9, "results of the first ten")
        seen = progress.statistics()
        assert (seen["rows"], seen["failed"], seen["dropped"], seen["metrics.cents"]) == (
            *(40, 1, 1),
            20,
        )
        assert str(progress) == "40 rows, 9 results, 1 failed, 1 dropped, 30 in flight, 20 cents"
        gate.touch()
        action.join(PATIENCE)
        exact = dict(observation.get)
        found = progress.statistics()
        assert found.pop("metrics.cents") == 80 == exact.pop("metrics")["cents"]
        assert found.pop("in_flight") == 0
        assert found == exact
        assert (found["rows"], found["results"], found["failed"]) == (40, 39, 1)
        frame.collect()
        assert progress.statistics()["rows"] == 80, "another action calls again"


def test_the_epochs_of_a_stream_are_summed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    with fs.CallProgress(tmp_path / "progress") as progress:
        for rows in (10, 20, 30):  # a query that is started again goes on with its figures
            numbers(spark, rows, 2).write.mode("append").parquet(str(tmp_path / "in"))
            stream = spark.readStream.schema("n bigint").option("maxFilesPerTrigger", 1)
            frame = fs.async_map(
                stream.parquet(str(tmp_path / "in")),
                Priced(tmp_path / "gate", at_once=0),
                PAIRS,
                on_error="drop",
                name="priced",
                progress=progress,
            )
            query = (
                frame.writeStream.format("noop")
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        found = progress.statistics()
        assert (found["rows"], found["failed"], found["in_flight"]) == (60, 3, 0)
        assert found["metrics.cents"] == 120
        names = {path.name for path in (tmp_path / "progress").glob("*/*")}
        assert len(names) <= 2, "a file for each partition, however many epochs"
    assert not list((tmp_path / "progress").iterdir())
    assert progress._seen, "the last figures stay"


def test_an_attempt_that_failed_counts_no_more(spark: SparkSession) -> None:
    with fs.CallProgress() as progress:
        frame = fs.async_map(numbers(spark, 100, 1), FailsOnce(), PAIRS, progress=progress)
        assert frame.count() == 100
        found = progress.statistics()
        assert (found["rows"], found["results"], found["failed"]) == (100, 100, 0)


def test_it_is_shown_as_a_line_that_is_written_again(spark: SparkSession, tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    gate, terminal, log = tmp_path / "gate", Terminal(), io.StringIO()
    with fs.CallProgress() as progress:
        frame = fs.async_map(
            numbers(spark, 4), Priced(gate, at_once=2), PAIRS, on_error="drop", progress=progress
        )
        with progress.shown(terminal), progress.shown(log):
            action = in_background(frame.collect)
            until(lambda: "2 in flight" in terminal.getvalue())
            gate.touch()
            action.join(PATIENCE)
    lines = terminal.getvalue().split("\r")
    assert lines[0] == ""
    assert len(lines) >= 3
    last = "4 rows, 3 results, 1 failed, 1 dropped, 0 in flight, 8 cents, "
    assert lines[-1].startswith(last)
    assert lines[-1].rstrip(" \n").endswith("rows/s")
    assert lines[-1].endswith("\n")
    assert log.getvalue().startswith(last)
    assert log.getvalue().count("\n") == 1


def test_tasks_do_not_fail_with_their_reports(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    progress = fs.CallProgress(tmp_path / "file")  # no directory can be made in it
    frame = fs.async_map(numbers(spark, 10), FailsOnce(), PAIRS, progress=progress)
    assert frame.count() == 10


def test_what_workers_cannot_reach_is_refused(spark: SparkSession) -> None:
    frame = numbers(spark, 1)
    with pytest.raises(ArgumentTypeError, match="progress is a CallProgress, not 'yes'"):
        fs.async_map(frame, FailsOnce(), PAIRS, progress="yes")  # type: ignore[call-overload]

    class Elsewhere:
        class sparkSession:
            class sparkContext:
                master = "spark://there:7077"

    class Remote:
        class sparkSession:
            pass

    with fs.CallProgress() as own:
        with pytest.raises(IllegalArgumentError, match="of the master 'spark://there:7077' may"):
            report_place(own, Elsewhere())  # type: ignore[arg-type]
        with pytest.raises(IllegalArgumentError, match="of a Spark Connect server may not reach"):
            report_place(own, Remote())  # type: ignore[arg-type]
    with fs.CallProgress("memory://shared") as shared:
        assert report_place(shared, Elsewhere()) == shared._place  # type: ignore[arg-type]
        assert pickle.loads(pickle.dumps(shared._place)) == shared._place


def test_in_a_notebook_it_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, content: str) -> None:
            shown.append(content)

    class Display:
        HTML = staticmethod(lambda text: text)

        @staticmethod
        def display(content: str, display_id: bool) -> Handle:
            return Handle()

    monkeypatch.setitem(__import__("sys").modules, "ipykernel", object())
    monkeypatch.setitem(__import__("sys").modules, "IPython.display", Display)
    with fs.CallProgress() as progress, progress.shown():
        pass
    assert shown[-1].startswith("<table><tr><th>rows</th><th>results</th>")
    assert "<td>0</td>" in shown[-1]
    assert progress._repr_html_().startswith("<table>")
