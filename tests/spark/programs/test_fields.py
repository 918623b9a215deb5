"""Function objects of programs keep their fields from micro-batch to micro-batch, as in Flink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flinkish.common import Time, Types, WatermarkStrategy
from flinkish.datastream import (
    AsyncDataStream,
    BroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from flinkish.datastream.connectors.file_system import FileSource, StreamFormat
from flinkish.datastream.functions import AsyncFunction, ProcessWindowFunction
from flinkish.datastream.window import CountTumblingWindowAssigner
from tests.spark.programs.functions import PAIR, RULES


class Counted(MapFunction):
    """Counts in a number that __init__ made, in one that open made, and in a set."""

    def __init__(self) -> None:
        self.calls = 0

    def open(self, runtime_context: Any) -> None:
        self.since_open = 0
        self.seen: set[str] = set()
        self.opened = object()  # cannot be the same elsewhere

    def map(self, value: str) -> tuple[str, int]:
        self.calls += 1
        self.since_open += 1
        self.seen.add(value)
        assert self.calls == self.since_open == len(self.seen)
        return value, self.calls


class KeyedCount(KeyedProcessFunction):
    """A count of all keys of a task."""

    def open(self, runtime_context: Any) -> None:
        self.by_key: dict[str, int] = {}

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.by_key[value[0]] = value[1]
        yield value[0], len(self.by_key)


class Fired(ProcessWindowFunction):
    """Counts the windows of a task."""

    windows = 0

    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        self.windows += 1
        yield "window", self.windows


class Asked(AsyncFunction):
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self.calls += 1
        return [("asked", self.calls)]


class Ruled(BroadcastProcessFunction):
    """Counts elements in a broadcast operator without keys."""

    def __init__(self) -> None:
        self.calls = 0

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.calls += 1
        yield "ruled", self.calls

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        """There are none."""


class Written(SinkFunction):
    """Writes elements as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def invoke(self, value: Any, context: Any) -> None:
        with self.path.open("a") as file:
            file.write(f"{value}\n")


class InGroups(SinkFunction):
    """Writes elements together when it is closed, which ends the field that they are in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.group: list[str] = []

    def invoke(self, value: Any, context: Any) -> None:
        self.group.append(str(value))

    def close(self) -> None:
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in self.group)


def test_fields_live_as_long_as_the_job(
    streaming: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """A file a micro-batch: each function goes on where it was, whatever worker has its task."""
    folder = tmp_path / "in"
    folder.mkdir()
    streaming.set_parallelism(1)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    lines = streaming.from_source(
        source.monitor_continuously(100).build(), WatermarkStrategy.no_watermarks(), "files"
    )
    calls: list[int] = []

    def closed_over(value: Any) -> Any:
        calls.append(1)
        return ("closure", len(calls))

    counted = lines.map(Counted(), PAIR)
    keyed = counted.key_by(lambda pair: pair[0], Types.STRING())
    windows = keyed.window(CountTumblingWindowAssigner(1)).process(Fired(), PAIR)
    counted.add_sink(InGroups(tmp_path / "groups"))
    keyed.process(KeyedCount(), PAIR).add_sink(Written(tmp_path / "keyed"))
    windows.add_sink(Written(tmp_path / "windows"))
    asked = AsyncDataStream.ordered_wait(lines, Asked(), Time.seconds(60), 10, PAIR)
    asked.add_sink(Written(tmp_path / "asked"))
    rules = streaming.from_collection([], Types.STRING()).broadcast(RULES)
    lines.connect(rules).process(Ruled(), PAIR).add_sink(Written(tmp_path / "ruled"))
    found: list[Any] = []
    with counted.union(lines.map(closed_over, PAIR)).execute_and_collect() as results:
        for number in range(4):
            (folder / f"{number}.txt").write_text(f"line {number}\n")
            found.append({next(results), next(results)})
    assert found == [{(f"line {n}", n + 1), ("closure", n + 1)} for n in range(4)]
    said = {"keyed": "line {}", "windows": "window", "asked": "asked", "ruled": "ruled"}
    for name, first in {**said, "groups": "line {}"}.items():
        written = (tmp_path / name).read_text().splitlines()
        assert written[:3] == [str((first.format(n), n + 1)) for n in range(3)], name
