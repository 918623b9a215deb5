"""Timers on the time of the machine, which need no data to fire."""

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.spark import StateSettings
from tests.processes import LONGEST_S
from tests.spark.support import GROUPS, Source, iso, start, timed
from tests.waiting import until


class Both(KeyedProcessFunction):
    """A timer on each clock; shows both clocks when one fires."""

    DELAY = 1500

    def process_element(self, value: Any, ctx: Any) -> Any:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + self.DELAY)
        timers.register_event_time_timer(ctx.timestamp() + 1000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        timers = ctx.timer_service()
        now, watermark = timers.current_processing_time(), timers.current_watermark()
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, now, watermark


@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_timers_fire_without_data(spark: SparkSession, tmp_path: Path, backend: Any) -> None:
    source = Source(spark, tmp_path / "in", "key string, ts timestamp")
    source.add([{"key": "a", "ts": iso(1000)}, {"key": "b", "ts": iso(2000)}])
    source.add([{"key": "c", "ts": iso(9000)}])
    stream = (
        timed(source.stream())
        .key_by("key")
        .process(
            Both(),
            schema="key string, domain string, at bigint, now bigint, watermark bigint",
            max_parallelism=GROUPS,
            processing_time_timers=True,
            state=StateSettings(table_dir=str(tmp_path / "tables"), backend=backend),
        )
    )
    found: list[tuple[int, Any]] = []

    def write(batch: int, main: DataFrame) -> None:
        found.extend((batch, row) for row in main.collect())

    started = time.time() * 1000
    writer = stream.foreach_batch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = start(writer.trigger(processingTime="1 second"))
    try:
        until(lambda: query.awaitTermination(0.2) or len(found) >= 5, seconds=LONGEST_S)
    finally:
        query.stop()
    clock = sorted((row.key, row.at, row.now) for _, row in found if row.domain != "EVENT_TIME")
    assert [key for key, _, _ in clock] == ["a", "b", "c"]
    for _, at, now in clock:
        assert started + Both.DELAY <= at <= now
    # The timer of c, at 10000, would need a watermark that no data gives.
    event = [(batch, row) for batch, row in found if row.domain == "EVENT_TIME"]
    assert sorted((row.key, row.at) for _, row in event) == [("a", 2000), ("b", 3000)]
    assert {row.watermark for _, row in event} == {8999}
    without_data = [batch for batch, row in found if row.key == "c"]
    # Versioned by batch, timers on event time fire with the rows that let it pass.
    batches = {batch for batch, _ in event}
    assert batches == {1} if backend == "versioned" else min(batches) >= 2
    assert min(without_data) >= 2, "after both batches of data"
