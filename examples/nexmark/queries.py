"""The queries, on streams and on batch DataFrames alike.

Those that keep figures up to date with every bid (q16 - q19) give a row for each change, as Flink's
changelog does; `latest` leaves the last of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import functions
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.common import Duration, WatermarkStrategy
from flinkish.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flinkish.functions import Count
from flinkish.spark import DataStream

# Spark's workers need not be able to import the functions: they travel.
cloudpickle.register_pickle_by_value(functions)

BID = "auction long, bidder long, price long, ts timestamp"


@dataclass(frozen=True)
class Inputs:
    """The three streams, batch or streaming; the side table, always batch."""

    person: DataFrame
    auction: DataFrame
    bid: DataFrame
    side: DataFrame
    lateness_ms: int

    def timed(self, frame: DataFrame) -> DataStream:
        """With event time; out of order by no more than the generator makes it."""
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(self.lateness_ms)
        )
        return DataStream(frame).assign_timestamps_and_watermarks(strategy, column="ts")


def q0(data: Inputs) -> DataFrame:
    """Pass through."""
    return fs.run_task(
        data.bid.select("auction", "bidder", "price", "ts"), functions.PassThrough(), BID
    )


def q1(data: Inputs) -> DataFrame:
    """Currency."""
    return fs.run_task(data.bid, functions.ToEuros(), BID.replace("price long", "price double"))


def q2(data: Inputs) -> DataFrame:
    """Selection."""
    return fs.run_task(data.bid, functions.Selected(), "auction long, price long")


def q5(data: Inputs) -> DataFrame:
    """Hot items: counts by columns, then the most of each window."""
    counts = (
        data.timed(data.bid.select("auction", "ts"))
        .key_by("auction")
        .window(SlidingEventTimeWindows.of("10 seconds", "2 seconds"))
        .aggregate(Count())
    )
    return (
        counts.key_by("window_end")
        .window(TumblingEventTimeWindows.of("2 seconds"))
        .process(functions.Most(), schema="auction long, bids long, ends timestamp")
        .to_df()
    )


def q7(data: Inputs) -> DataFrame:
    """Highest bid: of each auction first, so that the work is shared, then of all."""
    of_each = (
        data.timed(data.bid.select("auction", "bidder", "price", "ts"))
        .key_by("auction")
        .window(TumblingEventTimeWindows.of("10 seconds"))
        .aggregate(functions.Highest(), functions.Spread(), schema=BID)
    )
    return (
        of_each.window_all(TumblingEventTimeWindows.of("10 seconds"))
        .aggregate(functions.Highest(), functions.SpreadAll(), schema=BID)
        .to_df()
    )


def q8(data: Inputs) -> DataFrame:
    """New users: registrations and auctions of a user in one window."""
    registered = data.person.select("id", "name", "ts")
    sold = data.auction.select(
        F.col("seller").alias("id"), F.lit(None).cast("string").alias("name"), "ts"
    )
    return (
        data.timed(registered.union(sold))
        .key_by("id")
        .window(TumblingEventTimeWindows.of("10 seconds"))
        .process(functions.SellersAmongPersons(), schema="id long, name string, starts timestamp")
        .to_df()
    )


def q11(data: Inputs) -> DataFrame:
    """Bids of a session."""
    return (
        data.timed(data.bid.select("bidder", "ts"))
        .key_by("bidder")
        .window(EventTimeSessionWindows.with_gap("10 seconds"))
        .aggregate(Count())
        .to_df()
        .selectExpr("bidder", "count AS bids", "window_start AS starts", "window_end AS ends")
    )


def q12(data: Inputs) -> DataFrame:
    """Bids of ten seconds on the wall."""
    return (
        DataStream(data.bid.select("bidder"))
        .key_by("bidder")
        .window(TumblingProcessingTimeWindows.of("10 seconds"))
        .aggregate(Count())
        .to_df()
        .selectExpr("bidder", "count AS bids")
    )


def q13(data: Inputs) -> DataFrame:
    """A side table."""
    side = {row.key: row.value for row in data.side.collect()}
    bid = data.bid.select("auction", "bidder", "price", "ts")
    return fs.run_task(bid, functions.Enriched(side), f"{BID}, value string")


def q14(data: Inputs) -> DataFrame:
    """Calculation."""
    return fs.run_task(
        data.bid.select("auction", "bidder", "price", "ts", "url"),
        functions.Calculated(),
        "auction long, bidder long, price double, time_of_day string, ts timestamp, c_count int",
    )


def q16(data: Inputs) -> DataFrame:
    """Statistics of channels."""
    ranks = ", ".join(f"rank{n} long" for n in (1, 2, 3))
    distinct = ", ".join(
        f"{what}s long, " + ", ".join(f"rank{n}_{what}s long" for n in (1, 2, 3))
        for what in ("bidder", "auction")
    )
    bid = data.bid.select("auction", "bidder", "price", "channel", "ts", _day())
    return (
        data.timed(bid)
        .key_by("channel", "day")
        .process(
            functions.ChannelStatistics(),
            schema=f"channel string, day string, minute string, bids long, {ranks}, {distinct}, "
            "version long",
        )
        .to_df()
    )


def q17(data: Inputs) -> DataFrame:
    """Statistics of auctions."""
    return (
        data.timed(data.bid.select("auction", "price", "ts", _day()))
        .key_by("auction", "day")
        .process(
            functions.AuctionStatistics(),
            schema="auction long, day string, bids long, rank1 long, rank2 long, rank3 long, "
            "lowest long, highest long, average double, total long, version long",
        )
        .to_df()
    )


def q18(data: Inputs) -> DataFrame:
    """Last bid of each user on each auction."""
    return (
        data.timed(data.bid.select("auction", "bidder", "price", "ts"))
        .key_by("bidder", "auction")
        .process(functions.LastBid(), schema=f"{BID}, version long")
        .to_df()
    )


def q19(data: Inputs) -> DataFrame:
    """Ten highest bids of each auction."""
    return (
        data.timed(data.bid.select("auction", "bidder", "price", "ts"))
        .key_by("auction")
        .process(functions.TopTen(), schema=f"{BID}, place int, version long")
        .to_df()
    )


def q22(data: Inputs) -> DataFrame:
    """Folders of addresses."""
    return fs.run_task(
        data.bid.select("auction", "bidder", "price", "channel", "url"),
        functions.Folders(),
        "auction long, bidder long, price long, channel string, dir1 string, dir2 string, "
        "dir3 string",
    )


QUERIES: dict[str, Callable[[Inputs], DataFrame]] = {
    query.__name__: query
    for query in (q0, q1, q2, q5, q7, q8, q11, q12, q13, q14, q16, q17, q18, q19, q22)
}

# Of queries that give a row for each change, the columns that say what changed.
KEYS = {
    "q16": ("channel", "day"),
    "q17": ("auction", "day"),
    "q18": ("auction", "bidder"),
    "q19": ("auction", "place"),
}


def latest(query: str, rows: DataFrame) -> DataFrame:
    """The last row of each key; all rows of a query that never changes its mind."""
    if query == "q12":
        return rows.groupBy("bidder").agg(F.sum("bids").alias("bids"))
    keys = KEYS.get(query)
    if keys is None:
        return rows
    others = [name for name in rows.columns if name not in (*keys, "version")]
    newest = F.max_by(F.struct(*others), "version").alias("newest")
    return (
        rows.groupBy(*keys)
        .agg(newest)
        .select(*keys, "newest.*")
        .select(*[name for name in rows.columns if name != "version"])
    )


def _day() -> F.Column:
    return F.date_format("ts", "yyyy-MM-dd").alias("day")
