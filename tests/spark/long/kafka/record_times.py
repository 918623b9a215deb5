"""The timestamps of Kafka's records as event times.

    record_times.py SETTINGS CLOSED

Reads a topic that the test has filled, bounded and not, and prints what it found as JSON.  CLOSED
is how many windows records close without the end of the source.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from flinkish.common import Configuration, Time, Types, WatermarkStrategy
from flinkish.common.serialization import SimpleStringSchema
from flinkish.common.watermark_strategy import TimestampAssigner
from flinkish.datastream import (
    DataStream,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from flinkish.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from flinkish.datastream.window import TumblingEventTimeWindows

TOPIC = "timed"
WINDOW_MS = 100
LATER_MS = 1_000_000


class Later(TimestampAssigner):
    """Some time after the record's own timestamp."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp + LATER_MS


class Timed(ProcessFunction):
    """Elements with their timestamps."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp()


class Content(ProcessWindowFunction):
    """The begin of a window, and what it has."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield context.window().start, ",".join(sorted(elements))


class Program:
    """The topic, read in several ways."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._broker = settings["broker"]
        found = {"spark.jars": settings["jars"], "spark.master": "local[2]"}
        self.env = StreamExecutionEnvironment.get_execution_environment(Configuration(found))

    def stream(self, strategy: WatermarkStrategy, *, bounded: bool) -> DataStream:
        builder = KafkaSource.builder().set_bootstrap_servers(self._broker).set_topics(TOPIC)
        builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
        if bounded:
            builder.set_bounded(KafkaOffsetsInitializer.latest())
        source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
        return self.env.from_source(source, strategy, TOPIC)

    def texts(self, strategy: WatermarkStrategy, *, bounded: bool) -> DataStream:
        return self.stream(strategy, bounded=bounded).map(lambda text: text, Types.STRING())

    def windows(self, strategy: WatermarkStrategy, *, bounded: bool, wanted: int) -> list[Any]:
        windows = TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
        keyed = self.texts(strategy, bounded=bounded).key_by(lambda text: text[0])
        pair = Types.TUPLE([Types.LONG(), Types.STRING()])
        with keyed.window(windows).process(Content(), pair).execute_and_collect() as found:
            return sorted(islice(found, wanted))


def monotonous() -> WatermarkStrategy:
    """A strategy of its own, since with_timestamp_assigner changes it, as in PyFlink."""
    return WatermarkStrategy.for_monotonous_timestamps()


def later() -> WatermarkStrategy:
    """The same, with an assigner."""
    return monotonous().with_timestamp_assigner(Later())


def times(stream: DataStream) -> list[Any]:
    """The elements of a stream with their timestamps."""
    timed = stream.process(Timed(), Types.TUPLE([Types.STRING(), Types.LONG()]))
    return sorted(timed.execute_and_collect())


def main(settings: dict[str, str], closed: int) -> None:
    program = Program(settings)
    none = WatermarkStrategy.no_watermarks()
    moved = program.texts(none, bounded=True)
    found = {
        "none": times(program.stream(none, bounded=True)),
        "later": times(program.stream(later(), bounded=True)),
        "again": times(moved.assign_timestamps_and_watermarks(later())),
        "bounded": program.windows(none, bounded=True, wanted=closed + 1),
        "unbounded": program.windows(monotonous(), bounded=False, wanted=closed),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2]))
