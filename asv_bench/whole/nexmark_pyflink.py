"""Nexmark's q5, q7, q8, q11 and q12 as a PyFlink job with Python functions, for docs/nexmark.md.

    python3.11 -m venv V && V/bin/pip install apache-flink==2.3.0 psutil    # Java 17 as well
    V/bin/python asv_bench/whole/nexmark_pyflink.py [--events N] [--mode MODE ...] [QUERY ...]

The events are those of examples/nexmark, the queries cut as there, parallelism 2, all other
settings Flink's own.  The source is in Java (files of CSV, with only the columns that are read;
timestamps and watermarks, too), and `read` is that source alone; what a user would write is in
Python.  Each query is run over N / 5 and over N events, after a run that warms the JVM up, and what
is told is of the difference, so that starting costs nothing: events (of all kinds, as in the table
of examples/nexmark) per second, the cores that Flink's JVM and its Python workers kept busy, and
events per second and core.  Results are compared with what pandas finds.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.csv

try:
    from pyflink.common import Configuration, Types
    from pyflink.common.time import Time
    from pyflink.datastream import DataStream, StreamExecutionEnvironment
    from pyflink.datastream.functions import (
        AggregateFunction,
        ProcessAllWindowFunction,
        ProcessWindowFunction,
    )
    from pyflink.datastream.window import (
        EventTimeSessionWindows,
        SlidingEventTimeWindows,
        TumblingEventTimeWindows,
        TumblingProcessingTimeWindows,
    )
    from pyflink.table import StreamTableEnvironment
except ImportError:
    print("PyFlink is not installed here; how to run this is in the head of the file")
    sys.exit(0)

# Flink looks for Python in PATH.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "nexmark"))
from generator import Nexmark

NEXMARK = Nexmark()
COLUMNS = {
    "person": "id BIGINT, name STRING",
    "auction": "seller BIGINT",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT",
}
MODES = "process", "thread"
SHORT = 5  # part of the events that the shorter run takes
TEN_S, TWO_S = Time.seconds(10), Time.seconds(2)


# --- the queries


class Counted(AggregateFunction):
    """How many."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Highest(AggregateFunction):
    """The bids at the highest price."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        price = value[2]
        if not accumulator or price > accumulator[0][2]:
            return [(value[0], value[1], price, value[3])]
        if price == accumulator[0][2]:
            accumulator.append((value[0], value[1], price, value[3]))
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        if not a or not b or a[0][2] == b[0][2]:
            return a + b
        return max(a, b, key=lambda bids: bids[0][2])


class WithWindow(ProcessWindowFunction):
    """Key and value with the bounds of their window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        for value in elements:
            yield key, value, window.start, window.end


class Most(ProcessAllWindowFunction):
    """Of all counts of a window, the highest."""

    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        counted = list(elements)
        most = max(value[1] for value in counted)
        for auction, count, _, end in counted:
            if count == most:
                yield auction, count, end


class Spread(ProcessWindowFunction):
    """A list of bids, one by one."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        for bids in elements:
            yield from bids


class SpreadAll(ProcessAllWindowFunction):
    """The same without keys."""

    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        for bids in elements:
            yield from bids


class SellersAmongPersons(ProcessWindowFunction):
    """One who registers and sells within a window."""

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        names = [value[1] for value in elements]
        registered = [name for name in names if name is not None]
        if registered and len(registered) < len(names):
            yield key, registered[0], context.window().start


def longs(count: int) -> Any:
    """The type of a tuple of so many numbers; a new one each time, as PyFlink needs it."""
    return Types.TUPLE([Types.LONG() for _ in range(count)])


def q5(stream: Callable[[str], DataStream]) -> DataStream:
    """Hot items."""
    return (
        stream("SELECT auction, ts FROM bid")
        .key_by(lambda bid: bid[0], key_type=Types.LONG())
        .window(SlidingEventTimeWindows.of(TEN_S, TWO_S))
        .aggregate(Counted(), WithWindow(), Types.LONG(), longs(4))
        .window_all(TumblingEventTimeWindows.of(TWO_S))
        .process(Most(), longs(3))
    )


def q7(stream: Callable[[str], DataStream]) -> DataStream:
    """Highest bid."""
    return (
        stream("SELECT auction, bidder, price, ms, ts FROM bid")
        .key_by(lambda bid: bid[0], key_type=Types.LONG())
        .window(TumblingEventTimeWindows.of(TEN_S))
        .aggregate(Highest(), Spread(), Types.LIST(longs(4)), longs(4))
        .window_all(TumblingEventTimeWindows.of(TEN_S))
        .aggregate(Highest(), SpreadAll(), Types.LIST(longs(4)), longs(4))
    )


def q8(stream: Callable[[str], DataStream]) -> DataStream:
    """New users."""
    return (
        stream("SELECT id, name, ts FROM person")
        .union(stream("SELECT seller AS id, CAST(NULL AS STRING) AS name, ts FROM auction"))
        .key_by(lambda one: one[0], key_type=Types.LONG())
        .window(TumblingEventTimeWindows.of(TEN_S))
        .process(SellersAmongPersons(), Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()]))
    )


def q11(stream: Callable[[str], DataStream]) -> DataStream:
    """Bids of a session."""
    return (
        stream("SELECT bidder, ts FROM bid")
        .key_by(lambda bid: bid[0], key_type=Types.LONG())
        .window(EventTimeSessionWindows.with_gap(TEN_S))
        .aggregate(Counted(), WithWindow(), Types.LONG(), longs(4))
    )


def q12(stream: Callable[[str], DataStream]) -> DataStream:
    """Bids of ten seconds on the wall."""
    return (
        stream("SELECT bidder FROM bid")
        .key_by(lambda bid: bid[0], key_type=Types.LONG())
        .window(TumblingProcessingTimeWindows.of(TEN_S))
        .aggregate(Counted(), WithWindow(), Types.LONG(), longs(4))
    )


QUERIES = {query.__name__: query for query in (q5, q7, q8, q11, q12)}


# --- the same by pandas


def expected(query: str, frames: dict[str, pd.DataFrame]) -> list[tuple[Any, ...]]:
    """What a query must give, in order."""
    bid = frames["bid"]
    if query == "q5":
        slides = [
            bid.assign(end=bid.ms // 2_000 * 2_000 + 2_000 * n)[["auction", "end"]]
            for n in range(1, 6)
        ]
        counts = pd.concat(slides).groupby(["auction", "end"]).size().reset_index(name="n")
        found = counts[counts.n == counts.groupby("end").n.transform("max")]
        found = found[["auction", "n", "end"]]
    elif query == "q7":
        highest = bid.groupby(bid.ms // 10_000).price.transform("max")
        found = bid[bid.price == highest][["auction", "bidder", "price", "ms"]]
    elif query == "q8":
        keyed = [frames["person"], frames["auction"].rename(columns={"seller": "id"})]
        persons, auctions = (one.assign(start=one.ms // 10_000 * 10_000) for one in keyed)
        both = persons.merge(auctions[["id", "start"]].drop_duplicates(), on=["id", "start"])
        found = both[["id", "name", "start"]]
    elif query == "q11":
        ordered = bid.sort_values(["bidder", "ms"])
        session = (ordered.groupby("bidder").ms.diff() > 10_000).groupby(ordered.bidder).cumsum()
        times = ordered.groupby(["bidder", session.rename("session")]).ms
        found = times.agg(["count", "min", "max"]).reset_index().drop(columns="session")
        found["max"] += 10_000
    else:
        found = bid.groupby("bidder").size().reset_index(name="n")
    return sorted(found.itertuples(index=False, name=None))


# --- runs


@dataclass(frozen=True)
class Cost:
    """Of a run: seconds on the wall, and of processors."""

    wall: float
    cpu: float


class Events:
    """So many events in files, two of each kind, for two tasks."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count, self.folder = count, folder
        self.frames = {}
        numbers = np.arange(count)
        for kind, columns in COLUMNS.items():
            made = NEXMARK.of_kind(kind, numbers)
            names = [column.split()[0] for column in columns.split(", ")]
            ms = made["ts"].cast(pa.int64()).to_numpy() // 1_000
            table = pa.table([*(made[name] for name in names), ms], names=[*names, "ms"])
            self.frames[kind] = table.to_pandas()
            (folder / kind).mkdir(parents=True)
            # Both files cover all of the time, so both tasks' watermarks keep together.
            turn = (table["ms"].to_numpy() - NEXMARK.start_ms) // 100 % 2
            for file in range(2):
                pa.csv.write_csv(
                    table.filter(pa.array(turn == file)),
                    folder / kind / f"{file}.csv",
                    pa.csv.WriteOptions(include_header=False),
                )

    def create_tables(self, tables: Any, *, endless: bool) -> None:
        """Tell Flink of the files; those of an endless source are looked for again."""
        more = ", 'source.monitor-interval' = '1 s'" if endless else ""
        for kind, columns in COLUMNS.items():
            tables.execute_sql(
                f"CREATE TEMPORARY TABLE {kind} ({columns}, ms BIGINT, "
                "ts AS TO_TIMESTAMP_LTZ(ms, 3), "
                f"WATERMARK FOR ts AS ts - INTERVAL '0.{NEXMARK.lateness_ms:03}' SECOND) "
                f"WITH ('connector' = 'filesystem', 'path' = '{self.folder / kind}', "
                f"'format' = 'csv'{more})"
            )


def cpu_seconds() -> float:
    """Of this process and all below it."""
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def run(
    query: str, events: Events, mode: str, *, endless: bool = False
) -> tuple[Cost, list[tuple[Any, ...]]]:
    """Run a query to its end, or until an endless one has counted all bids."""
    settings = Configuration()
    settings.set_string("python.execution-mode", mode)
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    environment.set_parallelism(2)
    tables = StreamTableEnvironment.create(environment)
    events.create_tables(tables, endless=endless)
    found = []
    cpu, wall = cpu_seconds(), time.perf_counter()
    if query == "read":
        tables.execute_sql(
            "CREATE TEMPORARY TABLE nowhere (auction BIGINT, bidder BIGINT, price BIGINT, "
            "ms BIGINT, ts TIMESTAMP_LTZ(3)) WITH ('connector' = 'blackhole')"
        )
        tables.execute_sql("INSERT INTO nowhere SELECT * FROM bid").wait()
    else:
        results = QUERIES[query](
            lambda text: tables.to_data_stream(tables.sql_query(text))
        ).execute_and_collect()
        left = len(events.frames["bid"])
        with results:
            for row in results:
                found.append(tuple(row))
                left -= row[1] if endless else 0
                if not left:
                    break
    return Cost(time.perf_counter() - wall, cpu_seconds() - cpu), sorted(found)


def check(query: str, events: Events, found: list[tuple[Any, ...]]) -> str:
    """Whether the results are right."""
    want = expected(query, events.frames)
    if query == "q12":
        counted = pd.DataFrame(found, columns=["bidder", "n", "start", "end"])
        found = sorted(counted.groupby("bidder").n.sum().items())
    if found == want:
        return f"{len(want):,} rows equal"
    return f"{len(set(found) - set(want)):,} rows too many, {len(set(want) - set(found)):,} lack"


def measure(query: str, mode: str, short: Events, long: Events) -> None:
    """Run a query, and print its line."""
    # Flink drops the windows whose time on the clock has not come when the input ends, so what q12
    # gives is looked at where there is no end.
    by_clock = query == "q12"
    _, warm = run(query, short, mode, endless=by_clock)
    less, _ = run(query, short, mode)
    more, found = run(query, long, mode)
    wall, cpu, events = more.wall - less.wall, more.cpu - less.cpu, long.count - short.count
    result = ""
    if query != "read":
        result = check(query, short, warm) if by_clock else check(query, long, found)
    print(
        f"{query:5} {mode:8} {events / wall:9,.0f} events/s {cpu / wall:5.2f} cores "
        f"{events / cpu:9,.0f} events/s per core   {result}",
        flush=True,
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("queries", nargs="*", default=["read", *QUERIES], metavar="QUERY")
    parser.add_argument("--events", type=int, default=250_000, metavar="N")
    parser.add_argument("--mode", nargs="+", default=MODES, choices=MODES)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        short = Events(Path(folder) / "short", asked.events // SHORT)
        long = Events(Path(folder) / "long", asked.events)
        for mode in asked.mode:
            for query in asked.queries:
                measure(query, mode, short, long)


if __name__ == "__main__":
    main()
