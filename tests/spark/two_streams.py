"""Two streams of tests, and what pairs and functions of both should give."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from flinkish.common import OutputTag, Types
from flinkish.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
)
from flinkish.state import MapStateDescriptor, ValueStateDescriptor
from tests.spark.support import Source, iso

ORDERS = "customer string, amount bigint, ts timestamp"
PAYMENTS = "payer string, paid bigint, method string, at timestamp"
PAIRS = "customer string, amount bigint, paid bigint, later bigint"
TOTALS = "customer string, amount bigint, paid bigint, what string"
LATE_ORDERS = OutputTag("late-orders", ORDERS)
LATE_PAYMENTS = OutputTag("late-payments", PAYMENTS)
SIDE = OutputTag("side", Types.ROW_NAMED(["paid"], [Types.LONG()]))


class Match(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left.customer, left.amount, right.paid, ctx.get_timestamp()


class Same(KeyedProcessFunction):
    """Gives the customer and amount of each order."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value.customer, value.amount


class Totals(KeyedCoProcessFunction):
    """Sums of both inputs by key; each row gives them, and a timer 3 s after each order."""

    def open(self, runtime_context: Any) -> None:
        self.sums = runtime_context.get_state(ValueStateDescriptor("sums"))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        ordered, paid = self.sums.value() or (0, 0)
        self.sums.update((ordered + value.amount, paid))
        if ctx.timestamp() is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 3000)
        yield value.customer, ordered + value.amount, paid, "order"

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        ordered, paid = self.sums.value() or (0, 0)
        self.sums.update((ordered, paid + value.paid))
        yield SIDE, (value.paid,)
        yield value.payer, ordered, paid + value.paid, value.method

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield (ctx.get_current_key(), *self.sums.value(), "timer")


Batches = list[list[tuple[str, int, int]]]  # key, number, time in ms


def random_batches(seed: int, batches: int, rows: int, keys: int = 8) -> Batches:
    """Rows whose time wanders onward, some of them late; numbers are unique."""
    chance = random.Random(seed)
    numbers = iter(range(seed * 100_000, seed * 100_000 + batches * rows))
    return [
        [
            (
                f"k{chance.randrange(keys)}",
                next(numbers),
                20_000 + batch * 3000 + chance.randrange(-4000, 4000),
            )
            for _ in range(rows)
        ]
        for batch in range(batches)
    ]


def sources(
    spark: SparkSession, path: Path, orders: Batches, payments: Batches
) -> tuple[Source, Source]:
    """A directory for each, with a file for each batch."""
    left = Source(spark, path / "orders", ORDERS)
    right = Source(spark, path / "payments", PAYMENTS)
    add_orders(left, right, orders, payments)
    return left, right


def add_orders(left: Source, right: Source, orders: Batches, payments: Batches) -> None:
    """A file for each batch."""
    for rows in orders:
        left.add({"customer": key, "amount": n, "ts": iso(at)} for key, n, at in rows)
    for rows in payments:
        right.add(
            {"payer": key, "paid": n, "method": f"m{n % 3}", "at": iso(at)} for key, n, at in rows
        )


def joined(
    orders: Batches, payments: Batches, lower: int, upper: int, bound: int
) -> tuple[list[Any], list[int], list[int]]:
    """Pairs, late orders and late payments, with Spark's watermark: one step behind, and lower."""
    highest = [0, 0]
    marks = [-(2**63)]
    for batch in zip(orders, payments, strict=True):
        for side, rows in enumerate(batch):
            highest[side] = max(highest[side], *(at - bound for _, _, at in rows))
        marks.append(max(marks[-1], min(highest) - 1))
    given = joined_batches(orders, payments, lower, upper, marks[:-1])
    pairs, late_orders, late_payments = (
        sorted(one for batch in given for one in batch[at]) for at in range(3)
    )
    return pairs, late_orders, late_payments


def joined_batches(
    orders: Batches, payments: Batches, lower: int, upper: int, marks: list[int]
) -> list[tuple[list[Any], list[int], list[int]]]:
    """Pairs, late orders and late payments of each batch, each of which sees a watermark (ms)."""
    kept: list[tuple[int, str, int, int]] = []
    given: list[tuple[list[Any], list[int], list[int]]] = []
    stay = (max(upper, 0), max(-lower, 0))
    for batch, watermark in zip(zip(orders, payments, strict=True), marks, strict=True):
        pairs: list[Any] = []
        late: tuple[list[int], list[int]] = ([], [])
        kept = [one for one in kept if one[3] + stay[one[0]] > watermark]
        for side, rows in enumerate(batch):
            for key, n, at in rows:
                if at < watermark:
                    late[side].append(n)
                    continue
                one = (side, key, n, at)
                for other in kept:
                    left, right = (one, other) if side == 0 else (other, one)
                    near = lower <= right[3] - left[3] <= upper
                    if other[0] != side and other[1] == key and near:
                        pairs.append((key, left[2], right[2], max(left[3], right[3])))
                kept.append(one)
        given.append((sorted(pairs), sorted(late[0]), sorted(late[1])))
    return given


LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
ABOVE = "customer string, amount bigint, most bigint"


class Above(KeyedBroadcastProcessFunction):
    """Orders above the customer's limit, or that of all; a timer tells the limits 3 s later."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        limits = ctx.get_broadcast_state(LIMITS)
        most = limits.get(value.customer) or limits.get("*")
        if most is not None and value.amount > most:
            yield value.customer, value.amount, most
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 3000)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(LIMITS).put(value.payer, value.paid)
        counted: list[tuple[str, int]] = []
        ctx.apply_to_keyed_state(
            ValueStateDescriptor("count", Types.LONG()),
            lambda key, state: counted.append((key, state.value())),
        )
        for key, count in counted:
            yield SIDE, (count * 1000 + int(key[1:]),)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), -1, sum(ctx.get_broadcast_state(LIMITS).values())


class Told(KeyedBroadcastProcessFunction):
    """A rule tells itself to the side; the rule "c" tells each key that there is, too."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update(value.amount)
        limits = ctx.get_broadcast_state(LIMITS)
        yield value.customer, value.amount, sum(limits.values())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(LIMITS).put(value.payer, value.paid)
        if value.payer != "c":
            yield SIDE, (value.paid,)
            return
        keys: list[str] = []
        descriptor = ValueStateDescriptor("seen", Types.LONG())
        ctx.apply_to_keyed_state(descriptor, lambda key, state: keys.append(key))
        for key in keys:
            yield value.payer, value.paid, int(key[1:])


class Anyone(BroadcastProcessFunction[Any, Any, Any]):
    """Orders above the limit of whoever ordered, or that of all; a rule tells all limits."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        limits = ctx.get_broadcast_state(LIMITS)
        most = limits.get(value.customer) or limits.get("*")
        if most is not None and value.amount > most:
            yield value.customer, value.amount, most

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        limits = ctx.get_broadcast_state(LIMITS)
        limits.put(value.payer, value.paid)
        yield SIDE, (sum(limits.values()),)
