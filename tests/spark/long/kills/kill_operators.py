"""A program that is killed: several operators over two directories of micro-batches, at once.

Run as ``python -m tests.spark.long.kills.kill_operators WORK connect join broadcast keyless
columns``, or with some of these; WORK/in holds the batches, WORK/out gets a file for each query and
micro-batch.  Ends with WORK/done when all are through.
"""

import sys
import threading
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from flinkish.common import OutputTag
from flinkish.functions import Count, Max, Sum
from flinkish.spark import DataStream, KeyedStream, ProcessedStream
from flinkish.windowing import SlidingEventTimeWindows
from tests.spark.killed import into_files
from tests.spark.sessions import LOCAL, session
from tests.spark.support import GROUPS, Source, settings, start, timed
from tests.spark.two_streams import (
    ABOVE,
    LATE_ORDERS,
    LATE_PAYMENTS,
    LIMITS,
    ORDERS,
    PAIRS,
    PAYMENTS,
    SIDE,
    TOTALS,
    Above,
    Anyone,
    Match,
    Totals,
)

BOUND = 1000
WINDOWS = SlidingEventTimeWindows.of(3000, 700)
AGGREGATES = (Count(), Sum("amount"), Max("amount"))


class Inputs:
    """The streams of a query, and how its operator keeps state."""

    def __init__(self, spark: SparkSession, work: Path, name: str) -> None:
        self._orders = Source(spark, work / "in" / "orders", ORDERS)
        self._payments = Source(spark, work / "in" / "payments", PAYMENTS)
        # Compacts all the time, so that kills meet compactions.
        state = settings(work / name, compact_bytes=1, compact_factor=1.0, compact_pieces=3)
        self.options = {"max_parallelism": GROUPS, "state": state}

    def rows(self) -> DataStream:
        """The orders."""
        return timed(self._orders.stream(), BOUND)

    def orders(self) -> KeyedStream:
        """The orders by customer."""
        return self.rows().key_by("customer")

    def payments(self) -> KeyedStream:
        """The payments by payer."""
        return timed(self._payments.stream(), BOUND, column="at").key_by("payer")

    def rules(self) -> DataStream:
        """The payments without keys and without event time."""
        return DataStream(self._payments.stream())


def connect(inputs: Inputs) -> ProcessedStream:
    """Sums of both streams, and timers."""
    connected = inputs.orders().connect(inputs.payments())
    return connected.process(Totals(), schema=TOTALS, **inputs.options)


def join(inputs: Inputs) -> ProcessedStream:
    """Pairs, and late rows of either stream."""
    joined = inputs.orders().interval_join(inputs.payments()).between(-1000, 2000)
    joined.side_output_left_late_data(LATE_ORDERS).side_output_right_late_data(LATE_PAYMENTS)
    return joined.process(Match(), schema=PAIRS, **inputs.options)


def broadcast(inputs: Inputs) -> ProcessedStream:
    """Orders above the limits that payments stand for."""
    connected = inputs.orders().connect(inputs.rules().broadcast(LIMITS))
    return connected.process(Above(), schema=ABOVE, **inputs.options)


def keyless(inputs: Inputs) -> ProcessedStream:
    """The same of orders without keys."""
    connected = inputs.rows().connect(inputs.rules().broadcast(LIMITS))
    return connected.process(Anyone(), schema=ABOVE, **inputs.options)


def columns(inputs: Inputs) -> ProcessedStream:
    """Windows of orders, computed from columns."""
    stream = inputs.orders().window(WINDOWS, **inputs.options).aggregate(AGGREGATES)
    assert "by columns" in stream.explain()
    return stream


OPERATORS: dict[str, tuple[Callable[[Inputs], ProcessedStream], tuple[OutputTag, ...]]] = {
    "connect": (connect, (SIDE,)),
    "join": (join, (LATE_ORDERS, LATE_PAYMENTS)),
    "broadcast": (broadcast, (SIDE,)),
    "keyless": (keyless, (SIDE,)),
    "columns": (columns, ()),
}


def together(write: Callable[..., None], all_started: threading.Event) -> Callable[..., None]:
    """``write``, but from its second call on only when all queries have been started.

    They start one after the other, since that is work, and a kill should then meet all of them.
    """
    calls = iter((False,))

    def wait_and_write(batch: int, *frames: DataFrame) -> None:
        if next(calls, True):
            all_started.wait()
        write(batch, *frames)

    return wait_and_write


def main(work: Path, names: list[str]) -> None:
    """Run queries one beside the other."""
    spark = session(LOCAL, work)
    queries = []
    all_started = threading.Event()
    try:
        for name in names:
            make, tags = OPERATORS[name]
            write = together(into_files(work, *tags, prefix=f"{name}-"), all_started)
            writer = make(Inputs(spark, work, name)).foreach_batch(write, *tags)
            writer = writer.option("checkpointLocation", str(work / "checkpoint" / name))
            queries.append(start(writer.trigger(availableNow=True)))
    finally:
        all_started.set()
    for query in queries:
        query.awaitTermination()
    (work / "done").touch()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
