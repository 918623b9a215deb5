"""The functions of the queries that Python answers row by row, or window by window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flinkish.common import Row, Types
from flinkish.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from flinkish.datastream.state import MapStateDescriptor, ValueStateDescriptor

Bid = tuple[int, int, int, Any]

EURO = 0.908


# --- one row in, at most one out


class PassThrough(ProcessFunction):
    """q0: the bid as it is."""

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        yield value


class ToEuros(ProcessFunction):
    """q1: another currency."""

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        yield value.auction, value.bidder, value.price * EURO, value.ts


class Selected(ProcessFunction):
    """q2: bids on some auctions."""

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        if value.auction % 123 == 0:
            yield value.auction, value.price


class Enriched(ProcessFunction):
    """q13: the value of a side table, which is small enough to travel with the function."""

    def __init__(self, side: Mapping[int, str]) -> None:
        self._side = side

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        found = self._side.get(value.auction % 10_000)
        if found is not None:
            yield value.auction, value.bidder, value.price, value.ts, found


class Calculated(ProcessFunction):
    """q14: a filter, a case, and a function of a text."""

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        price = value.price * EURO
        if 1_000_000 < price < 50_000_000:
            hour = value.ts.hour
            time_of_day = (
                "day" if 8 <= hour <= 18 else "night" if hour <= 6 or hour >= 20 else "other"
            )
            yield value.auction, value.bidder, price, time_of_day, value.ts, value.url.count("c")


class Folders(ProcessFunction):
    """q22: the folders of an address."""

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """One bid; where its address has fewer folders they are empty, as for split_part."""
        first, second, third, *_ = *value.url.split("/")[3:], "", "", ""
        yield value.auction, value.bidder, value.price, value.channel, first, second, third


# --- windows


class Most(ProcessWindowFunction):
    """q5: of the auctions' counts of one window, the highest."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Row]
    ) -> Iterator[Any]:
        """All counts of a window's end."""
        counted = list(elements)
        most = max(row.count for row in counted)
        for row in counted:
            if row.count == most:
                yield row.auction, row.count, row.window_end


class Highest(AggregateFunction):
    """q7: the bids at the highest price; those of one price stay together."""

    def create_accumulator(self) -> list[Bid]:
        """No bid yet."""
        return []

    def add(self, value: Row, accumulator: list[Bid]) -> list[Bid]:
        """One bid more."""
        price = value.price
        if not accumulator or price > accumulator[0][2]:
            return [(value.auction, value.bidder, price, value.ts)]
        if price == accumulator[0][2]:
            accumulator.append((value.auction, value.bidder, price, value.ts))
        return accumulator

    def get_result(self, accumulator: list[Bid]) -> list[Bid]:
        """The bids."""
        return accumulator

    def merge(self, acc_a: list[Bid], acc_b: list[Bid]) -> list[Bid]:
        """The higher of two, or both."""
        if not acc_a or not acc_b or acc_a[0][2] == acc_b[0][2]:
            return acc_a + acc_b
        return max(acc_a, acc_b, key=lambda bids: bids[0][2])


class Spread(ProcessWindowFunction):
    """q7: a list of bids as rows."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[list[Bid]]
    ) -> Iterator[Bid]:
        """The one list of a window."""
        for bids in elements:
            yield from bids


class SpreadAll(ProcessAllWindowFunction):
    """q7: the same for windows without keys."""

    def process(
        self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[list[Bid]]
    ) -> Iterator[Bid]:
        """The one list of a window."""
        for bids in elements:
            yield from bids


class SellersAmongPersons(ProcessWindowFunction):
    """q8: one who registers and sells within a window."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context[Any], elements: Iterable[Row]
    ) -> Iterator[Any]:
        """What one user did in a window; a registration has a name, an auction has none."""
        names = [row.name for row in elements]
        registered = [name for name in names if name is not None]
        if registered and len(registered) < len(names):
            yield key, registered[0], context.window().start


# --- figures that change with every bid; ``version`` says which is the latest


def _rank(price: int) -> int:
    return 0 if price < 10_000 else 1 if price < 1_000_000 else 2


class ChannelStatistics(KeyedProcessFunction):
    """q16: by channel and day, counts of bids, and of distinct bidders and auctions."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Counts, and who was seen, with a bit for each rank of price."""
        self.counts = runtime_context.get_state(ValueStateDescriptor("counts"))
        self.bidders = runtime_context.get_map_state(
            MapStateDescriptor("bidders", Types.LONG(), Types.INT())
        )
        self.auctions = runtime_context.get_map_state(
            MapStateDescriptor("auctions", Types.LONG(), Types.INT())
        )

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        rank = _rank(value.price)
        # Bids, three ranks, bidders and by rank, auctions and by rank.
        minute, counts = self.counts.value() or ("", [0] * 12)
        minute = max(minute, value.ts.strftime("%H:%M"))
        counts[0] += 1
        counts[1 + rank] += 1
        for place, seen, who in (
            (4, self.bidders, value.bidder),
            (8, self.auctions, value.auction),
        ):
            before = seen.get(who) or 0
            counts[place] += not before
            counts[place + 1 + rank] += not before & 1 << rank
            seen.put(who, before | 1 << rank)
        self.counts.update((minute, counts))
        channel, day = ctx.get_current_key()
        yield channel, day, minute, *counts, counts[0]


class AuctionStatistics(KeyedProcessFunction):
    """q17: by auction and day, counts, and the least, greatest, mean and sum of prices."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Bids, three ranks, lowest, highest, total."""
        self.figures = runtime_context.get_state(ValueStateDescriptor("figures"))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        price = value.price
        bids, *ranks, lowest, highest, total = self.figures.value() or (0, 0, 0, 0, price, 0, 0)
        bids, total = bids + 1, total + price
        ranks[_rank(price)] += 1
        lowest, highest = min(lowest, price), max(highest, price)
        self.figures.update((bids, *ranks, lowest, highest, total))
        auction, day = ctx.get_current_key()
        yield auction, day, bids, *ranks, lowest, highest, total / bids, total, bids


class LastBid(KeyedProcessFunction):
    """q18: the latest bid of a user on an auction; of one time, the higher."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """The latest time and price, and how often they changed."""
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        time, price, version = self.last.value() or (-1, -1, 0)
        if (ctx.timestamp(), value.price) > (time, price):
            self.last.update((ctx.timestamp(), value.price, version + 1))
            yield value.auction, value.bidder, value.price, value.ts, version + 1


class TopTen(KeyedProcessFunction):
    """q19: the ten highest bids of an auction; of one price, the earlier."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """The bids in their order, and how often they changed."""
        self.top = runtime_context.get_state(ValueStateDescriptor("top"))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """One bid."""
        version, top = self.top.value() or (0, [])
        bid = (-value.price, value.ts, value.bidder)
        if len(top) == 10 and bid >= top[-1]:
            return
        after = sorted([*top, bid])[:10]
        version += 1
        self.top.update((version, after))
        for place in range(after.index(bid), len(after)):
            price, ts, bidder = after[place]
            yield value.auction, bidder, -price, ts, place + 1, version
