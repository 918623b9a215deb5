"""The slips of a first hour are refused where they are made, with what to write instead."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    UnknownColumnError,
)
from flinkish.common.typeinfo import Types
from flinkish.datastream.functions import KeyedProcessFunction, ProcessFunction
from flinkish.datastream.state import MapStateDescriptor
from flinkish.functions import Max, Sum
from flinkish.spark import DataStream, configure
from flinkish.spark.streams.options import OperatorOptions, plan_settings
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.fake_spark import FakeSpark, plan
from tests.spark.functions import Silence
from tests.spark.support import timed

OUT = "key string, what string, n bigint, at bigint"
PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.sql("select * from values ('a', 1), ('b', 2) as rows(key, n)")


@pytest.fixture
def endless(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pd.DataFrame({"n": [1]}), r"not a pandas DataFrame: make one with spark\.createDataFrame"),
        ([1], r"not a builtins list: make one with spark\.createDataFrame"),
        (None, "not a builtins NoneType: such as spark.readStream"),
    ],
    ids=["pandas", "list", "none"],
)
def test_what_is_no_frame_of_spark(given: Any, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        DataStream(given)


def test_a_stream_is_one_already(frame: DataFrame) -> None:
    stream = DataStream(frame)
    for given in (stream, stream.key_by("key")):
        with pytest.raises(ArgumentTypeError, match=r"is a stream already"):
            DataStream(given)  # type: ignore[arg-type]


def test_a_class_or_another_kind_of_function(frame: DataFrame) -> None:
    keyed = DataStream(frame).key_by("key")
    with pytest.raises(
        ArgumentTypeError, match=r"a KeyedProcessFunction, not .*; make an instance"
    ):
        keyed.process(Silence, schema=OUT)  # type: ignore[arg-type]

    class Unkeyed(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None: ...

    with pytest.raises(ArgumentTypeError, match=r"Unkeyed is a ProcessFunction.*: derive it from"):
        keyed.process(Unkeyed(), schema=OUT)  # type: ignore[arg-type]


class Waits(KeyedProcessFunction):
    """Registers a timer on event time."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(7)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield (timestamp,)


def test_a_timer_that_would_never_fire(tmp_path: Path) -> None:
    timeless = plan(
        Waits(), pa.schema([("n", pa.int64())]), tmp_path, event_time=None, streaming=True
    )
    with pytest.raises(IllegalStateError, match=r"call assign_timestamps_and_watermarks before"):
        FakeSpark().batch(timeless, [("a", 1, 1000)], 0)


@pytest.mark.parametrize("streaming", [True, False])
def test_streams_are_told_from_batches(
    endless: DataFrame, frame: DataFrame, streaming: bool
) -> None:
    keyed = DataStream(endless).key_by("value") if streaming else DataStream(frame).key_by("n")
    _, settings = plan_settings(keyed._keyed, "operator", OperatorOptions())
    assert settings["streaming"] is streaming


def test_an_option_that_there_is_not(frame: DataFrame) -> None:
    """It is refused by its name, as Python does, with the one that was probably meant."""
    keyed = DataStream(frame).key_by("key")
    with pytest.raises(TypeError, match=r"process\(\) got an unexp.* 'uidd'; did you mean 'uid'\?"):
        keyed.process(Waits(), schema="n bigint", uidd="a")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"window\(\) .* 'xyz'; its options are uid, max_"):
        keyed.count_window(2, xyz=3)  # type: ignore[call-arg]


def test_a_batch_fires_event_timers_without_event_time(frame: DataFrame) -> None:
    fired = DataStream(frame).key_by("key").process(Waits(), schema="n bigint").to_df().collect()
    assert [tuple(row) for row in fired] == [(7,), (7,)]


def test_partitions_that_nobody_chose(spark: SparkSession) -> None:
    session = configure(spark.newSession())
    session.conf.unset(PARTITIONS)
    keyed = DataStream(session.readStream.format("rate").load()).key_by("value")
    with pytest.warns(UserWarning, match=r"starts 200 tasks.*conf\.set\('spark.sql.shuffle.part"):
        keyed.process(Waits(), schema="n bigint")
    session.conf.set(PARTITIONS, 200)
    keyed.process(Waits(), schema="n bigint")  # where warnings are errors


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("project", r"to_df\(\)\.select"),
        ("sum", r"goes by key: stream\.key_by"),
        ("add_sink", "writeStream.format"),
        ("execute", "writeStream...start"),
        ("key_bye", "did you mean 'key_by'"),
        ("to_pandas_on_mars", "no attribute 'to_pandas_on_mars'$"),
    ],
)
def test_names_that_streams_do_not_have(frame: DataFrame, name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=f"'DataStream' object.*{hint}"):
        getattr(DataStream(frame), name)


def test_streams_with_keys_give_hints_too(frame: DataFrame) -> None:
    keyed = DataStream(frame).key_by("key")
    with pytest.raises(AttributeError, match=r"writeStream\.format"):
        keyed.add_sink(None)
    with pytest.raises(AttributeError, match=r"did you mean 'interval_join'"):
        keyed.intervaljoin(keyed)


def test_a_column_that_was_mistyped(frame: DataFrame) -> None:
    with pytest.raises(UnknownColumnError, match=r"the columns are key, n; did you mean 'key'"):
        DataStream(frame).key_by("kye")


class Counts(KeyedProcessFunction):
    """Passes keys and values on."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.get_current_key(), value["n"]


def test_names_are_resolved_as_spark_does(spark: SparkSession) -> None:
    keys = spark.sql("select 'x' as `Key`, 5 as n")
    for name in ("Key", "key", "`KEY`"):
        counts = DataStream(keys).key_by(name).process(Counts(), schema="k string, n int")
        assert [tuple(row) for row in counts.to_df().collect()] == [("x", 5)]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(UnknownColumnError, match=r"no column 'key'; .*did you mean 'Key'"):
            DataStream(keys).key_by("key")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_aggregates_find_columns_as_spark_does(spark: SparkSession) -> None:
    rows = spark.sql("select 'x' as key, 5 as n, timestamp_millis(1000) as ts")
    windowed = timed(rows).key_by("key").window(TumblingEventTimeWindows.of("1 s"))
    found = windowed.aggregate([Sum("N"), Max("`n`").alias("most")]).to_df()
    assert [(row["sum_N"], row["most"]) for row in found.collect()] == [(5, 5)]
    with pytest.raises(UnknownColumnError, match=r"Sum\('keyy'\).*'keyy'.*did you mean 'key'"):
        windowed.aggregate(Sum("keyy"))


def test_what_explains_a_stream(spark: SparkSession, endless: DataFrame) -> None:
    rows = endless.withColumnRenamed("value", "key").withColumn("n", F.lit(1))
    stream = timed(rows, 5000, "timestamp")
    keyed = stream.key_by("key")
    columns = "[timestamp: timestamp, key: bigint, n: int]"
    assert repr(stream) == f"DataStream{columns}"
    assert repr(keyed) == f"KeyedStream{columns} by key"
    assert repr(stream.key_by(lambda row: row.n)).endswith(" by a function of the row")
    windowed = keyed.window(TumblingEventTimeWindows.of(1000)).allowed_lateness(5)
    assert repr(windowed) == (
        f"WindowedStream of {keyed} in TumblingEventTimeWindows(1000, 0), EventTimeTrigger(), "
        "late by 5 ms"
    )
    assert repr(keyed.connect(keyed)) == f"ConnectedStreams of {keyed} and {keyed}"
    rules = stream.broadcast(MapStateDescriptor("rules", Types.STRING(), Types.LONG()))
    assert repr(rules) == f"BroadcastStream of {stream} with rules"
    assert repr(keyed.connect(rules)) == f"BroadcastConnectedStream of {keyed} and {rules}"
    join = keyed.interval_join(keyed)
    assert repr(join) == f"IntervalJoin of {keyed} and {keyed}"
    assert repr(join.between(-1, "2 seconds")) == (
        f"IntervalJoined of {keyed} and {keyed}, later by -1 ... 2000 ms"
    )
    counts = keyed.process(Counts(), "k bigint, n int", uid="counts", max_parallelism=7)
    passed = counts.key_by("k").process(Counts(), "m bigint, n int")
    assert repr(passed) == "ProcessedStream[m: bigint, n: int] after counts and Counts-2"
    assert len(passed.explain().splitlines()) == 2
    assert passed.explain(extended=True).splitlines() == [
        "counts: a keyed process function sees each row",
        "  keys: key",
        "  key groups: 7, in 2 partitions",
        "  event time: column 'timestamp'; watermark: trails the latest row by 5000 ms",
        "  timers: on event time",
        "  state: in the checkpoint, of uid 'counts'",
        "Counts-2: a keyed process function sees each row",
        "  keys: k",
        "  key groups: 16, in 2 partitions",
        "  event time: that of the operator before; watermark: trails the latest row by 5000 ms",
        "  timers: on event time",
        "  state: in the checkpoint, of the operator at this place (without a uid, "
        "called 'Counts-2')",
    ]


def test_what_explains_a_batch_and_windows_without_keys(frame: DataFrame) -> None:
    stream = DataStream(frame)
    assert stream.explain(extended=True) == "no operator: the rows of a DataFrame"
    counts = stream.key_by("key").process(Counts(), "k string, n int").explain(extended=True)
    assert counts.splitlines()[1:] == [
        "  keys: key",
        "  event time: none",
        "  timers: all fire at the end of the key's rows",
        "  state: of this run",
    ]
    dated = timed(frame.withColumn("ts", F.timestamp_millis("n")))
    largest = dated.window_all(TumblingEventTimeWindows.of("1 s")).reduce(max)
    assert "\n  keys: none\n  event time: column 'ts'\n" in largest.explain(extended=True)


def test_names_that_mean_several_columns(spark: SparkSession, frame: DataFrame) -> None:
    with pytest.raises(IllegalArgumentError, match=r"of one name, 'key', 'n', 'key', 'n'; rename"):
        DataStream(frame.crossJoin(frame))
    with pytest.raises(IllegalArgumentError, match=r"of one name, 'a', 'A'; rename"):
        DataStream(spark.sql("select 1 as a, 2 as A")).key_by("a")
    with pytest.raises(IllegalArgumentError, match=r"of one name, 'n', 'n'"):
        DataStream(frame).key_by("key").process(Waits(), schema="n int, n int")


def test_names_that_spark_takes_for_fields(spark: SparkSession) -> None:
    with pytest.raises(IllegalArgumentError, match=r"a column 'a\.b'.*withColumnRenamed"):
        DataStream(spark.sql("select 1 as `a.b`"))
