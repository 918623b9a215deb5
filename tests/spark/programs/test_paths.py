"""Paths are paths: names in which Spark and Hadoop would see patterns, schemes or escapes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flinkish.common import Duration, Types, WatermarkStrategy
from flinkish.common.errors import UnsupportedOperationError
from flinkish.datastream import DataStream, StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import FileSource, StreamFormat
from flinkish.table import StreamTableEnvironment

NAMES = ["a:b", "s*r", "q?", "[x]", "{p,q}", "a b", "a%20b", "h#sh", "back\\slash", "ü"]
# Files that the names would match if they were patterns, or escaped.
DECOYS = ["star", "qq", "x", "p", "a/b"]


def filled(folder: Path) -> Path:
    """A directory with files of these names, each with its name in it, and below it others."""
    for name in [*NAMES, "c:d/e:f", "d[1]/g"]:
        place = folder / f"{name}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{name}\n")
    for hidden in (".inprogress/part-1/h", "_temporary/0/h"):  # of sinks that write there
        place = folder / f"{hidden}.txt"
        place.parent.mkdir(parents=True)
        place.write_text("hidden\n")
    return folder


def of_files(env: StreamExecutionEnvironment, *paths: Path, monitored: bool = False) -> DataStream:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), *map(str, paths))
    if monitored:
        builder.monitor_continuously(Duration.of_seconds(1))
    return env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "files")


def test_files_by_their_names(batch: StreamExecutionEnvironment, tmp_path: Path) -> None:
    folder = filled(tmp_path / "files")
    for name in DECOYS:
        (folder / f"{name}.txt").parent.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text("decoy\n")
    named = of_files(batch, *(folder / f"{name}.txt" for name in NAMES))
    texts = batch.read_text_file(str(folder / "[x].txt")).union(
        batch.read_text_file(str(folder / "c:d"))
    )
    tables = StreamTableEnvironment.create(batch)
    tables.execute_sql(
        "CREATE TABLE lines (line STRING) WITH ('connector' = 'filesystem', "
        f"'format' = 'csv', 'path' = '{folder / 'd[1]'}')"
    )
    rows = tables.to_data_stream(tables.from_path("lines")).map(lambda row: row[0], Types.STRING())
    found = named.union(texts).union(rows).execute_and_collect()
    assert sorted(found) == sorted([*NAMES, "[x]", "c:d/e:f", "d[1]/g"])


def test_a_monitored_directory(streaming: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """Also its files that are ten days older than others."""
    folder = filled(tmp_path / "m[1] {a,b}*")
    old = folder / "old.txt"
    with of_files(streaming, folder, monitored=True).execute_and_collect() as lines:
        found = [next(lines) for _ in range(len(NAMES) + 2)]
        assert sorted(found) == sorted([*NAMES, "c:d/e:f", "d[1]/g"])
        (tmp_path / "old.txt").write_text("old\n")
        newest = (folder / "ü.txt").stat().st_mtime
        os.utime(tmp_path / "old.txt", (newest - 864_000, newest - 864_000))
        (tmp_path / "old.txt").rename(old)
        assert next(lines) == "old"


def test_a_path_that_cannot_be_monitored(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    stream = of_files(streaming, tmp_path / "a:b" / "c[1]", monitored=True)
    with pytest.raises(UnsupportedOperationError, match="a colon and one of"):
        stream.execute_and_collect()
