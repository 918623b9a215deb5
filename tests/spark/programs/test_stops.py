"""Jobs that stop within a micro-batch, and sinks that share a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from flinkish.common import (
    Configuration,
    Encoder,
    JobClient,
    JobStatus,
    Types,
    WatermarkStrategy,
)
from flinkish.common.errors import JobCancellationError, JobExecutionError
from flinkish.datastream import MapFunction, StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from tests.spark.programs.functions import PAIR, Numbers, ToFile
from tests.waiting import until

LONGEST_S = 120


class Gate(MapFunction):
    """Says that an element is there, and waits until it may go on; fails if it is told to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def map(self, value: Any) -> Any:
        if value[1] == 0:
            (self._folder / "waits").touch()
            while not (self._folder / "open").exists():
                sleep(0.02)
            if (self._folder / "fail").exists():
                raise ValueError("the last batch is a bad one")
        return value


def held(env: StreamExecutionEnvironment, folder: Path) -> JobClient:
    """A job with two file sinks of one base path and a SinkFunction, held in its first batch."""
    env.get_checkpoint_config().set_checkpoint_storage_dir(str(folder / "checkpoints"))
    numbers = env.add_source(Numbers(40), "numbers", PAIR).map(Gate(folder), PAIR)
    texts = numbers.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING())
    for _ in range(2):
        encoder = Encoder.simple_string_encoder()
        texts.sink_to(FileSink.for_row_format(str(folder / "out"), encoder).build())
    numbers.add_sink(ToFile(folder / "lines"))
    client = env.execute_async("held")
    until((folder / "waits").exists, seconds=LONGEST_S)
    return client


@contextmanager
def opened_at_last(folder: Path) -> Iterator[None]:
    """No test that fails leaves a task behind the gate."""
    try:
        yield
    finally:
        (folder / "open").touch()


def numbers_in(checkpoint: str, log: str) -> set[str]:
    return {file.name for file in Path(checkpoint, log).glob("[0-9]*")}


def test_a_stop_waits_for_its_micro_batch_and_shows_all_its_files(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """Every batch that was planned is committed, so a sink that is at least once has it once."""
    with ThreadPoolExecutor(1) as pool, opened_at_last(tmp_path):
        client = held(streaming, tmp_path)
        job: Any = client._job
        stop = pool.submit(lambda: client.stop_with_savepoint(False).result())
        until(lambda: not job._query.isActive, seconds=LONGEST_S)
        assert not stop.done()
        assert client.get_job_status().result() is JobStatus.RUNNING
        (tmp_path / "open").touch()
        savepoint = stop.result(LONGEST_S)
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert client.stop_with_savepoint(False).result() == savepoint
    assert numbers_in(savepoint, "offsets") == numbers_in(savepoint, "commits") != set()

    def read() -> Counter[str]:
        source = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(tmp_path / "out")
        )
        env = StreamExecutionEnvironment.get_execution_environment()
        lines = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines")
        return Counter(lines.execute_and_collect())

    first = read()
    assert set(first.values()) == {2}, "each sink has each element"
    again = StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("execution.savepoint.path", savepoint)
    ).set_parallelism(2)
    client = held(again, tmp_path)
    lines = tmp_path / "lines"
    until(lambda: len(lines.read_text().splitlines()) >= 40, seconds=LONGEST_S)
    assert client.stop_with_savepoint(False).result() == savepoint
    assert Counter(lines.read_text().splitlines()) == {
        f"('k{number % 3}', {number}) None": 1 for number in range(40)
    }
    assert read() == {f"k{number % 3} {number}": 2 for number in range(40)}


@pytest.mark.parametrize("end", ["fails", "is cancelled"])
def test_a_stop_whose_micro_batch_does_not_end_well(
    streaming: StreamExecutionEnvironment, tmp_path: Path, end: str
) -> None:
    with ThreadPoolExecutor(1) as pool, opened_at_last(tmp_path):
        client = held(streaming, tmp_path)
        job: Any = client._job
        stop = pool.submit(lambda: client.stop_with_savepoint(False).result())
        until(lambda: not job._query.isActive, seconds=LONGEST_S)
        if end == "fails":
            (tmp_path / "fail").touch()
            (tmp_path / "open").touch()
            with pytest.raises(JobExecutionError, match="the last batch is a bad one"):
                stop.result(LONGEST_S)
            assert client.get_job_status().result() is JobStatus.FAILED
        else:
            client.cancel().result()
            with pytest.raises(JobCancellationError):
                stop.result(LONGEST_S)
            assert client.get_job_status().result() is JobStatus.CANCELED
    assert not list((tmp_path / "out").glob("part-*"))
