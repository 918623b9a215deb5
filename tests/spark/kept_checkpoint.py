"""Programs whose checkpoints of flinkish 0.1.0, before formats had versions of their own, are kept.

`checkpoints_0.1.0.tar.gz` was made by that version with

    python tests/spark/kept_checkpoint.py checkpoints_0.1.0.tar.gz

and Spark 4.2, and is not to be made again: it is what users of that version have.  Its queries
saw `rows(1, 1)` and `rows(2, 2)`.
"""

from __future__ import annotations

import re
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from flinkish.common import Time, Types
from flinkish.functions import KeyedProcessFunction
from flinkish.functions.aggregates import Count, Sum
from flinkish.spark import KeyedStream, ProcessedStream
from flinkish.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.sessions import LOCAL, session
from tests.spark.support import GROUPS, Source, run, settings, timed

ARCHIVE = Path(__file__).with_name("checkpoints_0.1.0.tar.gz")
SCHEMA = "id int, n bigint, ts timestamp"
OUT = "id bigint, count bigint, tags string, seen string"
IDS = (-7, -1, 0, 3, 8, -2_000_000_000)


class Kept(KeyedProcessFunction):
    """State of each kind; a timer 10 s after each element, which says what is there."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.tags = runtime_context.get_map_state(
            MapStateDescriptor("tags", Types.STRING(), Types.LONG())
        )
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.tags.put(f"t{value.n}", ctx.timestamp())
        self.seen.add(value.n)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10_000)
        yield self.shown(ctx.get_current_key())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield (*self.shown(ctx.get_current_key())[:3], f"timer {timestamp}")

    def shown(self, key: int) -> tuple[Any, ...]:
        tags = sorted(self.tags.items())
        return key, self.count.value(), repr(tags), repr(list(self.seen.get()))


class Filtered(Source):
    """A source whose rows get no further than its first task."""

    def stream(self) -> DataFrame:
        return super().stream().where("n < 0")


def keyed_by_id(source: Source, widened_from: str | None) -> KeyedStream:
    options = {} if widened_from is None else {"widened_from": widened_from}
    return timed(source.stream()).key_by("id", **options)


def process(
    source: Source,
    tables: Path | None,
    widened_from: str | None = None,
    function: KeyedProcessFunction | None = None,
    **others: Any,
) -> ProcessedStream:
    keyed = keyed_by_id(source, widened_from)
    others = {"uid": "kept", "max_parallelism": GROUPS, "state": settings(tables)} | others
    return keyed.process(function or Kept(), schema=OUT, **others)


def windows(
    source: Source, tables: Path | None, widened_from: str | None = None
) -> ProcessedStream:
    """Windows by columns."""
    keyed = keyed_by_id(source, widened_from)
    windowed = keyed.window(
        TumblingEventTimeWindows.of(Time.seconds(20)), max_parallelism=4, state=settings(tables)
    )
    return windowed.aggregate([Count(), Sum("n")])


def reduced(
    source: Source, tables: Path | None, widened_from: str | None = None
) -> ProcessedStream:
    """Windows row by row."""
    keyed = keyed_by_id(source, widened_from)
    windowed = keyed.window(
        TumblingEventTimeWindows.of(Time.seconds(20)), max_parallelism=4, state=settings(tables)
    )
    return windowed.reduce(lambda one, other: type(one)(id=one.id, n=one.n + other.n, ts=other.ts))


QUERIES = {"process": process, "windows": windows, "reduced": reduced}


def rows(n: int, at: int, ids: tuple[int, ...] = IDS) -> list[dict[str, Any]]:
    """One row for each key, at this second."""
    return [{"id": one, "n": n, "ts": f"1970-01-01T00:00:{at:02}Z"} for one in ids]


def unpack(root: Path) -> None:
    """Put the kept checkpoints there; Spark remembers where files of its own lay."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    for file in root.glob("*/state/0/_metadata/**/*"):
        if file.is_file():
            file.write_text(re.sub(r"file:/[^\"]*/kept(?=/)", f"file:{root}", file.read_text()))


def main(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        spark = session(LOCAL, root)
        source = Source(spark, root / "in", SCHEMA)
        source.add(rows(1, 1))
        source.add(rows(2, 2))
        for name, define in QUERIES.items():
            print(name, run(define(source, root / "tables"), root / "kept" / name).rows())
        SparkSession.getActiveSession().stop()  # type: ignore[union-attr]
        with tarfile.open(archive, "w:gz") as tar:
            for name in QUERIES:
                tar.add(root / "kept" / name, name, filter=_visible)


def _visible(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without checksum files, and without the name of whoever made it."""
    if info.name.endswith(".crc"):
        return None
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


if __name__ == "__main__":
    main(Path(sys.argv[1]))
