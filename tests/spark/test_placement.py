"""Where Spark puts key groups."""

import random
from collections import Counter

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flinkish.spark.keyed.packing import NULL_KEY_GROUP, SETTINGS_GROUP
from flinkish.spark.keyed.placement import CLOCK_SLOTS, clock_slot, group_at, slot_of


def test_slots_and_key_groups_are_one_to_one() -> None:
    chance = random.Random(1)
    groups = [NULL_KEY_GROUP, *range(32768), *(chance.randrange(-(2**31), 2**31) for _ in "x" * 99)]
    assert [group_at(slot_of(group)) for group in groups] == groups
    assert len({slot_of(group) for group in groups}) == len(set(groups))
    assert all(-(2**31) <= slot_of(group) < 2**31 for group in groups)


def test_spark_hashes_a_slot_to_its_key_group(spark: SparkSession) -> None:
    groups = [NULL_KEY_GROUP, *range(1000), 32767]
    frame = spark.createDataFrame([(group, slot_of(group)) for group in groups], "g int, slot int")
    hashed = frame.select("g", F.hash("slot").alias("h")).collect()
    assert [row.h for row in hashed] == [row.g for row in hashed]


def test_partitions_have_as_many_key_groups_as_their_neighbours(spark: SparkSession) -> None:
    for groups, partitions in [(64, 2), (64, 7), (100, 16), (8, 12)]:
        slots = spark.createDataFrame([(slot_of(group),) for group in range(groups)], "slot int")
        placed = slots.repartition(partitions, "slot").select(F.spark_partition_id().alias("p"))
        counts = Counter(row.p for row in placed.collect())
        sizes = [counts[partition] for partition in range(partitions)]
        assert max(sizes) - min(sizes) <= 1


def test_each_partition_has_a_clock_before_its_key_groups(spark: SparkSession) -> None:
    groups = [SETTINGS_GROUP, NULL_KEY_GROUP, *range(32768)]
    assert CLOCK_SLOTS[-1] < min(slot_of(group) for group in groups)
    for partitions in (1, 2, 7, 200):
        clocks = [(number, clock_slot(number, partitions)) for number in range(partitions)]
        assert all(slot in CLOCK_SLOTS for _, slot in clocks if slot is not None)
        frame = spark.createDataFrame(clocks, "number int, slot int")
        placed = frame.repartition(partitions, "slot").where(
            F.spark_partition_id() == F.col("number")
        )
        assert placed.count() == partitions
