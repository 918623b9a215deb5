"""Two streams with one operator: joined, connected, and one reduced."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.spark import DataStream
from tests.spark.support import GROUPS, run, timed
from tests.spark.two_streams import (
    LATE_ORDERS,
    LATE_PAYMENTS,
    PAIRS,
    SIDE,
    TOTALS,
    Match,
    Same,
    Totals,
    joined,
    random_batches,
    sources,
)


def streams(left: Any, right: Any, bound: int = 1000) -> tuple[Any, Any]:
    return timed(left, bound), timed(right, bound, column="at")


def test_interval_join(spark: SparkSession, tmp_path: Path) -> None:
    orders, payments = random_batches(1, 4, 60), random_batches(2, 4, 60)
    left, right = streams(*(one.stream() for one in sources(spark, tmp_path, orders, payments)))
    stream = (
        left.key_by("customer")
        .interval_join(right.key_by("payer"))
        .between("-1 second", 2000)
        .upper_bound_exclusive()
        .side_output_left_late_data(LATE_ORDERS)
        .side_output_right_late_data(LATE_PAYMENTS)
        .process(Match(), schema=PAIRS, max_parallelism=GROUPS)
    )
    assert stream.explain() == "Match-1: row by row: Match is called for each pair"
    outcome = run(stream, tmp_path / "checkpoint", LATE_ORDERS, LATE_PAYMENTS)
    pairs, late_orders, late_payments = joined(orders, payments, -1000, 1999, 1000)
    assert sorted(outcome.rows()) == pairs
    assert sorted(row[1] for row in outcome.rows("late-orders")) == late_orders
    assert sorted(row[1] for row in outcome.rows("late-payments")) == late_payments
    assert len(pairs) > 50
    assert outcome.statistics["late_rows"] == len(late_orders) + len(late_payments) > 0
    assert outcome.statistics["rows"] == 480


def test_a_join_behind_another_operator(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is late, so whatever the watermarks, all pairs are there."""
    orders, payments = random_batches(8, 3, 40), random_batches(9, 3, 40)
    both = sources(spark, tmp_path, orders, payments)
    left, right = streams(*(one.stream() for one in both), bound=9000)
    same = left.key_by("customer").process(
        Same(), schema="customer string, amount bigint", max_parallelism=GROUPS
    )
    stream = (
        same.key_by("customer")
        .interval_join(right.key_by("payer"))
        .between(-1000, 1000)
        .process(Match(), schema=PAIRS, max_parallelism=GROUPS)
    )
    assert len(stream.explain().splitlines()) == 2
    outcome = run(stream, tmp_path / "checkpoint")
    flat = [[[row for rows in side for row in rows]] for side in (orders, payments)]
    assert sorted(outcome.rows()) == joined(*flat, -1000, 1000, 0)[0]
    assert outcome.statistics["late_rows"] == 0


def test_over_batch_dataframes(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of a key come in the order of their times, and nothing is late."""
    orders, payments = random_batches(3, 2, 60), random_batches(4, 2, 60)
    left, right = streams(*(one.frame() for one in sources(spark, tmp_path, orders, payments)))
    flat = [[row for rows in side for row in rows] for side in (orders, payments)]
    by_columns = (left.key_by("customer"), right.key_by("payer"))
    by_functions = (left.key_by(lambda row: row.customer), right.key_by(lambda row: row.payer))
    wanted, *_ = joined([flat[0]], [flat[1]], -500, 500, 0)
    for one, other in (by_columns, by_functions):
        join = one.interval_join(other).between(-500, 500).process(Match(), schema=PAIRS)
        assert sorted(map(tuple, join.to_df().collect())) == wanted
    totals = by_columns[0].connect(by_columns[1]).process(Totals(), schema=TOTALS)
    found: dict[str, list[Any]] = {}
    for row in totals.to_df().collect():
        found.setdefault(row.customer, []).append(tuple(row)[1:])
    for key, rows in found.items():
        assert rows == both_in_time_order(key, *flat)
    assert len(found) == 8
    assert totals.get_side_output(SIDE).to_df().count() == 120


def both_in_time_order(key: str, orders: list[Any], payments: list[Any]) -> list[Any]:
    rows = [(at, 1, n) for k, n, at in orders if k == key]
    rows += [(at, 2, n) for k, n, at in payments if k == key]
    sums, given, timers = [0, 0], [], set()
    for at, side, n in sorted(rows, key=lambda row: row[:2]):
        sums[side - 1] += n
        timers |= {at + 3000} if side == 1 else set()
        given.append((*sums, "order" if side == 1 else f"m{n % 3}"))
    return given + [(*sums, "timer")] * len(timers)


@pytest.mark.parametrize("order", ["arrival", "timestamp"])
def test_connect(spark: SparkSession, tmp_path: Path, order: str) -> None:
    """The watermark is the lower of both: that of payments, which stay behind."""
    orders = [[("a", 1, 11_000), ("b", 2, 10_000)], [("a", 4, 20_000)], [("c", 8, 30_000)]]
    payments = [
        [("a", 100, 10_500)],
        [("b", 200, 13_000), ("a", 400, 12_000)],
        [("a", 800, 15_000)],
    ]
    left, right = streams(
        *(one.stream() for one in sources(spark, tmp_path, orders, payments)), bound=0
    )
    stream = left.connect(right).key_by("customer", "payer")
    processed = stream.process(Totals(), schema=TOTALS, max_parallelism=GROUPS, order=order)
    outcome = run(processed, tmp_path / "checkpoint", SIDE)
    found = [
        sorted(outcome.batches[batch][""], key=lambda row: row[0]) for batch in outcome.batches
    ]
    first_of_a = [("a", 1, 0, "order"), ("a", 1, 100, "m1")]
    if order == "timestamp":
        first_of_a = [("a", 0, 100, "m1"), ("a", 1, 100, "order")]
    assert found == [
        [*first_of_a, ("b", 2, 0, "order")],
        # the watermark is 10,499: nothing is due
        [*timed_rows(order), ("b", 2, 200, "m2")],
        # 12,999: not yet those at 13,000
        [("a", 5, 1300, "m2"), ("c", 8, 0, "order")],
        # 14,999: the timers at 13,000 and 14,000
        [("a", 5, 1300, "timer"), ("b", 2, 200, "timer")],
    ]
    assert sorted(outcome.rows("side")) == [(100,), (200,), (400,), (800,)]


def timed_rows(order: str) -> list[Any]:
    if order == "timestamp":
        return [("a", 1, 500, "m1"), ("a", 5, 500, "order")]
    return [("a", 5, 100, "order"), ("a", 5, 500, "m1")]


def test_reduce(spark: SparkSession, tmp_path: Path) -> None:
    orders = [[("a", 1, 1000), ("b", 2, 2000), ("a", 4, 3000)], [("a", 8, 4000)]]
    left, _ = sources(spark, tmp_path, orders, [])
    stream = timed(left.stream()).key_by("customer").reduce(largest, max_parallelism=GROUPS)
    assert stream.to_df().columns == ["customer", "amount", "ts"]
    outcome = run(stream, tmp_path / "checkpoint")
    assert [row[:2] for row in outcome.rows() if row[0] == "a"] == [("a", 1), ("a", 4), ("a", 8)]
    assert [row[:2] for row in outcome.rows() if row[0] == "b"] == [("b", 2)]
    batch = timed(left.frame()).key_by("customer").reduce(largest).to_df().collect()
    assert sorted(row[:2] for row in batch) == [("a", 8), ("b", 2)]


def largest(one: Any, other: Any) -> Any:
    return max(one, other, key=lambda row: row.amount)


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    left, right = sources(spark, tmp_path, [[("a", 1, 1)]], [[("a", 1, 1)]])
    orders, payments = streams(left.stream(), right.stream())
    keyed = orders.key_by("customer")
    with pytest.raises(TimestampError, match="assign_timestamps_and_watermarks on both"):
        keyed.interval_join(DataStream(right.stream()).key_by("payer"))
    with pytest.raises(ArgumentTypeError, match="keys of the first stream are string"):
        keyed.connect(payments.key_by("paid")).process(Totals(), schema=TOTALS)
    with pytest.raises(ArgumentTypeError, match="those of the second a function"):
        keyed.connect(payments.key_by(lambda row: row.payer)).process(Totals(), schema=TOTALS)
    with pytest.raises(UnsupportedOperationError, match="use key_by on both"):
        keyed.connect(payments).process(Totals(), schema=TOTALS)  # type: ignore[call-overload]
    with pytest.raises(ArgumentTypeError, match="Totals is a function of keyed streams"):
        orders.connect(payments).process(Totals(), schema=TOTALS)
    with pytest.raises(IllegalArgumentError, match="keys already"):
        keyed.connect(payments.key_by("payer")).key_by("customer", "payer")
    connected = keyed.connect(payments.key_by("payer"))
    with pytest.raises(ArgumentTypeError, match="KeyedCoProcessFunction"):
        connected.process(Match(), schema=TOTALS)
    with pytest.raises(IllegalArgumentError, match="null_keys must be 'fail' or 'drop'"):
        connected.process(Totals(), schema=TOTALS, null_keys=SIDE)
    with pytest.raises(UnsupportedOperationError, match="read both as streams"):
        keyed.connect(timed(right.frame(), column="at").key_by("payer")).process(
            Totals(), schema=TOTALS
        )
    with pytest.raises(TimestampError, match="on both streams"):
        keyed.connect(DataStream(right.stream()).key_by("payer")).process(
            Totals(), schema=TOTALS, order="timestamp"
        )
    with pytest.raises(ArgumentTypeError, match="ReduceFunction"):
        keyed.reduce(3)


def test_without_event_time_and_without_keys(spark: SparkSession, tmp_path: Path) -> None:
    """Rows without a key are counted, in both inputs."""
    left, right = sources(spark, tmp_path, [[("a", 1, 1)]], [[("a", 1, 1), (None, 2, 2)]])  # type: ignore[list-item]
    for one, other in ((left.stream(), right.stream()), (left.frame(), right.frame())):
        connected = DataStream(one).connect(DataStream(other)).key_by("customer", "payer")
        stream = connected.process(
            Totals(), schema=TOTALS, null_keys="drop", max_parallelism=GROUPS
        )
        if other.isStreaming:
            outcome = run(stream, tmp_path / "checkpoint")
            rows, counts = outcome.rows(), outcome.statistics
        else:
            rows, counts = list(map(tuple, stream.to_df().collect())), stream.statistics()
        assert rows == [("a", 1, 0, "order"), ("a", 1, 1, "m1")]
        assert counts["null_keys"] == 1
