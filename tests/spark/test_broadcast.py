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
from flinkish.spark import DataStream
from tests.spark.support import GROUPS, run, timed
from tests.spark.two_streams import ABOVE, LIMITS, SIDE, Above, sources


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


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    left, right = sources(spark, tmp_path, [[("a", 1, 1)]], [[("a", 1, 1)]])
    rules: Any = DataStream(right.stream())
    with pytest.raises(IllegalArgumentError, match="at least one MapStateDescriptor"):
        rules.broadcast()
    keyed = timed(left.stream()).key_by("customer")
    with pytest.raises(ArgumentTypeError, match="KeyedBroadcastProcessFunction"):
        keyed.connect(rules.broadcast(LIMITS)).process(3, schema=ABOVE)
    with pytest.raises(ArgumentTypeError, match="key_by comes before it"):
        timed(left.stream()).connect(rules.broadcast(LIMITS))
    batch = timed(left.frame()).key_by("customer")
    with pytest.raises(UnsupportedOperationError, match="is a batch DataFrame"):
        batch.connect(DataStream(right.frame()).broadcast(LIMITS)).process(Above(), schema=ABOVE)
    with pytest.raises(UnsupportedOperationError, match="read both as streams"):
        keyed.connect(DataStream(right.frame()).broadcast(LIMITS)).process(Above(), schema=ABOVE)
