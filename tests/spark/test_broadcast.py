"""A keyed stream and one that reaches every key group."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.spark import DataStream, StateSettings
from tests.spark.support import GROUPS, run, timed
from tests.spark.two_streams import ABOVE, LIMITS, SIDE, Above, Anyone, Told, sources


def test_limits_reach_every_key(spark: SparkSession, tmp_path: Path) -> None:
    """Rules without event time do not hold the watermark back, and come first in a batch."""
    keys = [f"k{number}" for number in range(20)]
    orders = [
        [(key, 10, 10_000) for key in keys],
        [(key, 10, 11_000) for key in keys],
        [(key, 10, 20_000) for key in keys[:5]],
    ]
    rules = [[("*", 20, 0)], [("*", 5, 0)], [("k3", 30, 0)]]
    left, right = sources(spark, tmp_path, orders, rules)
    keyed = timed(left.stream()).key_by("customer")
    stream = keyed.connect(DataStream(right.stream()).broadcast(LIMITS)).process(
        Above(), schema=ABOVE, max_parallelism=GROUPS
    )
    outcome = run(stream, tmp_path / "checkpoint", SIDE)
    found = [sorted(outcome.batches[batch][""]) for batch in sorted(outcome.batches)]
    assert found == [
        [],
        sorted((key, 10, 5) for key in keys),
        sorted((key, 10, 5) for key in keys[:5] if key != "k3"),
        # the watermark is 19,999: the timers at 13,000 and 14,000 of every key, in every group
        sorted((key, -1, 35) for key in keys for _ in range(2)),
    ]
    visits = [sorted(outcome.batches[batch]["side"]) for batch in range(3)]
    assert visits == [
        [],
        [(1000 + number,) for number in range(20)],
        [(2000 + number,) for number in range(20)],
    ]


def test_over_batch_dataframes_all_rules_come_first(spark: SparkSession, tmp_path: Path) -> None:
    """As in Flink's batch mode."""
    orders = [[(f"k{number}", 10, 10_000 + batch) for number in range(20)] for batch in range(2)]
    left, right = sources(spark, tmp_path, orders, [[("*", 20, 0)], [("*", 5, 0)]])
    keyed = timed(left.frame()).key_by("customer")
    stream = keyed.connect(DataStream(right.frame()).broadcast(LIMITS)).process(
        Above(), schema=ABOVE
    )
    found = [tuple(row) for row in stream.to_df().collect()]
    assert sorted(row for row in found if row[1] > 0) == sorted(
        (f"k{number}", 10, 5) for number in range(20) for _ in range(2)
    )
    assert stream.statistics()["rows"] >= 40


@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_what_comes_of_a_rule_comes_once_a_subtask(
    spark: SparkSession, tmp_path: Path, backend: Any
) -> None:
    """As in Flink, not once a key group; state and output of keys are of all key groups."""
    orders = [[(f"k{number}", 10, 10_000) for number in range(20)]] * 3
    left, right = sources(spark, tmp_path, orders, [[("a", 5, 0), ("b", 7, 0)], [("c", 9, 0)], []])
    connected = (
        DataStream(left.stream())
        .key_by("customer")
        .connect(DataStream(right.stream()).broadcast(LIMITS))
    )
    state = StateSettings(table_dir=str(tmp_path / "tables"), backend=backend)
    stream = connected.process(Told(), schema=ABOVE, max_parallelism=GROUPS, state=state)
    outcome = run(stream, tmp_path / "checkpoint", SIDE)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    assert 1 < partitions < GROUPS
    sides = [sorted(outcome.batches[batch]["side"]) for batch in range(3)]
    assert sides == [sorted([(5,), (7,)] * partitions), [], []]
    mains = [outcome.batches[batch][""] for batch in range(3)]
    # In every batch each key tells all limits, and "c" has it tell itself once more.
    assert sorted(mains[0]) == sorted((f"k{n}", 10, 12) for n in range(20))
    seen = [("c", 9, n) for n in range(20)]
    assert sorted(mains[1]) == sorted([(f"k{n}", 10, 21) for n in range(20)] + seen)


def test_limits_reach_every_task(spark: SparkSession, tmp_path: Path) -> None:
    """Each of five copies of the state gets the rules; the rows of a partition stay in order."""
    orders = [
        [(f"k{number % 7}", number, 10_000 + batch * 1000) for number in range(40)]
        for batch in range(3)
    ]
    rules = [[("*", 35, 0)], [("k3", 20, 0)], [("*", 38, 0)]]
    left, right = sources(spark, tmp_path, orders, rules)
    rows = DataStream(timed(left.stream()).to_df().repartition(8))
    rules_stream = DataStream(right.stream()).broadcast(LIMITS)
    stream = rows.connect(rules_stream).process(Anyone(), schema=ABOVE, max_parallelism=5)
    assert stream.explain() == "Anyone-1: row by row: a broadcast process function sees each row"
    outcome = run(stream, tmp_path / "checkpoint", SIDE)
    limits: dict[str, int] = {}
    for batch in range(3):
        limits |= {key: most for key, most, _ in rules[batch]}
        wanted = [
            (key, n, limits.get(key, limits["*"]))
            for key, n, _ in orders[batch]
            if n > limits.get(key, limits["*"])
        ]
        assert sorted(outcome.batches[batch][""]) == sorted(wanted)
        # Every copy takes the rule, and holds what it took before.
        assert outcome.batches[batch]["side"] == [(sum(limits.values()),)] * 5
    assert outcome.statistics["rows"] == 3 * (40 + 5)
    assert outcome.statistics["timers_registered"] == 0


def test_rows_of_a_partition_go_to_one_copy_in_their_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    left, right = sources(spark, tmp_path, [[("a", n, 10_000) for n in range(50)]], [[("*", 9, 0)]])
    connected = timed(left.stream()).connect(DataStream(right.stream()).broadcast(LIMITS))
    outcome = run(connected.process(Anyone(), schema=ABOVE), tmp_path / "checkpoint", SIDE)
    assert outcome.rows() == [("a", n, 9) for n in range(10, 50)]
    assert outcome.rows("side") == [(9,)] * 2, "a copy for each task"


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    left, right = sources(spark, tmp_path, [[("a", 1, 1)]], [[("a", 1, 1)]])
    rules: Any = DataStream(right.stream())
    with pytest.raises(IllegalArgumentError, match="at least one MapStateDescriptor"):
        rules.broadcast()
    keyed = timed(left.stream()).key_by("customer")
    with pytest.raises(ArgumentTypeError, match="KeyedBroadcastProcessFunction"):
        keyed.connect(rules.broadcast(LIMITS)).process(3, schema=ABOVE)
    with pytest.raises(ArgumentTypeError, match="call key_by before connect"):
        timed(left.stream()).connect(rules.broadcast(LIMITS)).process(Above(), schema=ABOVE)
    with pytest.raises(ArgumentTypeError, match="has no on_timer"):
        keyed.connect(rules.broadcast(LIMITS)).process(Anyone(), schema=ABOVE)
    with pytest.raises(UnsupportedOperationError, match="has no timers"):
        timed(left.stream()).connect(rules.broadcast(LIMITS)).process(
            Anyone(), schema=ABOVE, processing_time_timers=True
        )
    with pytest.raises(ArgumentTypeError, match="a KeyedStream or a BroadcastStream, not 3"):
        keyed.connect(3)
    with pytest.raises(UnsupportedOperationError, match="read both as streams"):
        keyed.connect(DataStream(right.frame()).broadcast(LIMITS)).process(Above(), schema=ABOVE)
