"""What real-time mode cannot do is refused when it is defined."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from flinkish.common import Duration, OutputTag, WatermarkStrategy
from flinkish.common.errors import IllegalStateError, UnsupportedOperationError
from flinkish.datastream import AsyncDataStream
from flinkish.spark import DataStream, ProcessedStream
from flinkish.spark.real_time_settings import REAL_TIME_SETTINGS
from tests.spark.async_functions import Flaky
from tests.spark.functions import Silence
from tests.spark.support import timed
from tests.spark.two_streams import Match

# The functions here count their calls, which a query over a stream does not keep.
pytestmark = pytest.mark.filterwarnings("ignore:.* as it runs:UserWarning")

OUT = "key string, what string, n bigint, at bigint"


@pytest.fixture(scope="module")
def endless(spark: SparkSession) -> DataFrame:
    """Rows of a session that has been set up, but for what it needs before it starts."""
    session = spark.newSession()
    for name, value in (REAL_TIME_SETTINGS | {"flinkish.realTime": "true"}).items():
        session.conf.set(name, value)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    rate = session.readStream.format("rate").load()
    return rate.selectExpr("string(value) as key", "value as n", "timestamp as ts")


def silence(stream: DataStream) -> ProcessedStream:
    return stream.key_by("key").process(Silence(), schema=OUT)


def test_a_session_that_was_started_without_its_settings(spark: SparkSession) -> None:
    with pytest.raises((IllegalStateError, UnsupportedOperationError), match="real-time mode"):
        fs.configure(spark.newSession(), real_time=True)


def test_outputs_of_one_run(endless: DataFrame) -> None:
    stream = silence(timed(endless))
    with pytest.raises(UnsupportedOperationError, match="foreach_batch"):
        stream.foreach_batch(lambda batch, rows: None)
    assert set(stream.statistics().values()) == {0}, "nothing has run"
    called = fs.async_map(endless, Flaky(1), OUT, on_error=OutputTag("failed"))
    with pytest.raises(UnsupportedOperationError, match="foreach_batch"):
        called.foreach_batch(lambda batch, rows: None)


def test_united_streams_that_cannot_be_told_apart(endless: DataFrame) -> None:
    second = timed(endless).key_by("key").process(Silence(), schema=OUT, uid="second")
    with pytest.raises(UnsupportedOperationError, match="outputs of two keyed operators"):
        silence(timed(endless)).union(second)
    once = silence(timed(endless))
    with pytest.raises(UnsupportedOperationError, match="would run operator 'Silence-1' twice"):
        once.union(once.map(lambda row: row, schema=OUT))
    idle = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(1))
    other = DataStream(endless).assign_timestamps_and_watermarks(idle, column="ts")
    with pytest.raises(UnsupportedOperationError, match="the same with_idleness, or none"):
        silence(timed(endless).union(other))
    assert silence(other.union(other)).to_df().isStreaming


def test_two_inputs_that_are_outputs(endless: DataFrame) -> None:
    first, second = (
        timed(endless).key_by("key").process(Silence(), schema=OUT, uid=uid).key_by("key")
        for uid in ("first", "second")
    )
    joined: Any = first.interval_join(second).between(-1000, 1000)
    with pytest.raises(UnsupportedOperationError, match="reads the output of one"):
        joined.process(Match(), schema=OUT)


def test_calls_in_streams_with_event_time(endless: DataFrame) -> None:
    for stream in (timed(endless), silence(timed(endless))):
        with pytest.raises(UnsupportedOperationError, match="the watermark would overtake"):
            AsyncDataStream.unordered_wait(stream, Flaky(1), 1000, 2, OUT)
    called = AsyncDataStream.unordered_wait(DataStream(endless), Flaky(1), 1000, 2, OUT)
    assert called.to_df().isStreaming


def test_batch_dataframes_are_as_ever(endless: DataFrame) -> None:
    frame = endless.sparkSession.sql("select 'a' as key, 1L as n, timestamp_millis(5) as ts")
    assert silence(timed(frame)).to_df().collect()
