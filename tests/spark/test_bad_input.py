"""What cannot work says so: what was found, what was needed, what to do."""

import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from flinkish.common import Duration, OutputTag, Types, WatermarkStrategy
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    MissingDependencyError,
    SchemaMismatchError,
    SerializationError,
    TimestampError,
    UnknownColumnError,
)
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import ValueStateDescriptor
from flinkish.spark import DataStream
from tests.spark.fake_spark import FakeSpark, plan
from tests.spark.functions import Silence
from tests.spark.support import Source, raises, run, timed

STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
LONG = Types.LONG()
OUT = "key string, what string, n bigint, at bigint"


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "select * from values ('a', 1, timestamp_millis(1000), array(1)), "
        "('b', 2, timestamp_millis(2000), array(2)), (null, 3, timestamp_millis(3000), null), "
        "(null, 4, timestamp_millis(4000), null) as rows(key, n, ts, list)"
    ).coalesce(1)


class Asks(KeyedProcessFunction):
    """Does what the test says at its first row."""

    def __init__(self, **what: Any) -> None:
        vars(self).update(what)

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))
        if hasattr(self, "at_open"):
            self.at_open(self)

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.at_row(self, value, ctx) if hasattr(self, "at_row") else None

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.at_timer(self, timestamp, ctx)


# --- when it is defined


def test_columns(frame: DataFrame) -> None:
    with pytest.raises(UnknownColumnError, match="no column 'devise'; the columns are key, n") as e:
        DataStream(frame).key_by("devise")
    assert (e.value.column, e.value.available) == ("devise", ("key", "n", "ts", "list"))
    with pytest.raises(UnknownColumnError, match="'when'"):
        DataStream(frame).assign_timestamps_and_watermarks(STRATEGY, column="when")
    with pytest.raises(TimestampError, match=r"'n' is of type int; .* cast it"):
        DataStream(frame).assign_timestamps_and_watermarks(STRATEGY, column="n")
    with pytest.raises(IllegalArgumentError, match="have no timestamps, and neither"):
        DataStream(frame).assign_timestamps_and_watermarks(STRATEGY)
    with pytest.raises(IllegalArgumentError, match=r"'list' of type array<int> cannot be a key"):
        DataStream(frame).key_by("list")
    with pytest.raises(IllegalArgumentError, match="at least one column"):
        DataStream(frame).key_by()
    with pytest.raises(ArgumentTypeError, match="not 5"):
        DataStream(frame).key_by(5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schema": "key strin"}, "'key strin' is no DDL"),
        ({"order": "time"}, "must be 'arrival' or 'timestamp', not 'time'"),
        ({"null_keys": "ignore"}, "'fail', 'drop' or an OutputTag, not 'ignore'"),
        ({"max_parallelism": 0}, "from 1 to 32768, not 0"),
        ({"max_parallelism": 40000}, "from 1 to 32768, not 40000"),
    ],
)
def test_settings(frame: DataFrame, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        timed(frame).key_by("key").process(Silence(), **{"schema": OUT, **settings})


def test_arguments_of_the_wrong_kind(frame: DataFrame) -> None:
    keyed = DataStream(frame).key_by("key")
    with pytest.raises(TimestampError, match="assign_timestamps_and_watermarks first"):
        keyed.process(Silence(), schema=OUT, order="timestamp")
    with pytest.raises(ArgumentTypeError, match="takes a KeyedProcessFunction, not <function"):
        keyed.process(lambda value, ctx: None, schema=OUT)  # type: ignore[arg-type]
    processed = keyed.process(Silence(), schema=OUT)
    with pytest.raises(ArgumentTypeError, match="by its OutputTag, not by 'late'"):
        processed.get_side_output("late")  # type: ignore[arg-type]
    with pytest.raises(TimestampError, match="is of type bigint; event time needs a timestamp"):
        processed.assign_timestamps_and_watermarks(STRATEGY, column="at")


def test_functions_that_cannot_travel(frame: DataFrame) -> None:
    lock = threading.Lock()
    keyed = DataStream(frame).key_by("key")
    with pytest.raises(SerializationError, match=r"Asks\.client\['lock'\] of type lock.*open") as e:
        keyed.process(Asks(fine=1, client={"lock": lock}), schema=OUT)
    assert e.value.path == "Asks.client['lock']"
    with pytest.raises(SerializationError, match=r"key selector cannot .*\(closure over lock\)"):
        DataStream(frame).key_by(lambda row: (lock, row.key))


def test_what_is_missing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = spark.readStream.format("rate").load()
    keyed = DataStream(rows).key_by("value")
    provider = "spark.sql.streaming.stateStore.providerClass"
    good = spark.conf.get(provider)
    spark.conf.unset(provider)
    try:
        with pytest.raises(IllegalStateError, match=r"RocksDB.*flinkish\.spark\.configure"):
            keyed.process(Silence(), schema=OUT)
    finally:
        spark.conf.set(provider, good)
    for module, package in (("google.protobuf", "protobuf"), ("pandas", "pandas")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(MissingDependencyError, match=package):
                keyed.process(Silence(), schema=OUT)
    with pytest.raises(IllegalStateError, match=r"statistics\(query\)"):
        keyed.process(Silence(), schema=OUT).statistics()


# --- when it runs


def failure(frame: DataFrame, function: Any, **settings: Any) -> str:
    stream = timed(frame).key_by("key").process(function, **{"schema": "n bigint", **settings})
    with raises(PythonException) as caught:
        stream.to_df().collect()
    return str(caught.value)


def test_rows_without_a_key(frame: DataFrame) -> None:
    message = failure(frame, Asks())
    assert "NullKeyError: 2 rows have no key in key" in message
    assert "'n': 3" in message
    assert "null_keys='drop'" in message


def test_a_key_function_that_gives_none(frame: DataFrame) -> None:
    stream = timed(frame).key_by(lambda row: row.key).process(Asks(), schema="n bigint")
    with raises(PythonException, match="NullKeyError: 2 rows have no key in the key func"):
        stream.to_df().collect()


def test_a_key_function_that_fails(frame: DataFrame) -> None:
    stream = timed(frame).key_by(lambda row: row.list[5]).process(Asks(), schema="n bigint")
    with raises(PythonException, match=r"key selector of operator 'Asks-1' failed on Row"):
        stream.to_df().collect()


def yields(value: Any) -> Asks:
    return Asks(at_row=lambda self, row, ctx: [value])


def boom(*arguments: Any) -> None:
    raise KeyError("boom")


@pytest.mark.parametrize(
    ("function", "error", "parts"),
    [
        (yields(("text",)), SchemaMismatchError, ["n int64", "('text',)", "main output"]),
        (yields((1, 2)), SchemaMismatchError, ["(1, 2)"]),
        (
            yields((OutputTag("side", "a bigint"), ("x",))),
            SchemaMismatchError,
            ["the side output 'side'", "('x',)"],
        ),
        (Asks(at_open=lambda self: self.state.value()), IllegalStateError, ["'n'", "key"]),
        (Asks(at_row=boom), KeyError, ["in operator 'Asks-1' (Asks)", "key 'a'"]),
        (
            Asks(
                at_row=lambda self, row, ctx: ctx.timer_service().register_event_time_timer(7000),
                at_timer=boom,
            ),
            KeyError,
            ["in operator 'Asks-1' (Asks)", "key 'a'"],
        ),
        (
            Asks(
                at_row=lambda self, row, ctx: ctx.timer_service().register_processing_time_timer(7)
            ),
            IllegalStateError,
            ["processing_time_timers=True"],
        ),
    ],
    ids=["type", "width", "side", "open", "row", "timer", "processing"],
)
def test_functions_that_go_wrong(
    tmp_path: Path, function: Asks, error: type[Exception], parts: list[str]
) -> None:
    operator = plan(function, pa.schema([("n", pa.int64())]), tmp_path, uid="Asks-1")
    spark = FakeSpark()

    def two_batches() -> None:
        spark.batch(operator, [("a", 1, 1000)], 0)
        spark.batch(operator, [], 8001)

    with pytest.raises(error) as caught:
        two_batches()
    message = "".join(traceback.format_exception(caught.value))
    for part in parts:
        assert part in message, message


def test_functions_that_go_wrong_on_spark(frame: DataFrame) -> None:
    """The driver shows what the worker said."""
    message = failure(frame.where("key = 'a'"), Asks(at_row=boom))
    assert "KeyError: 'boom'" in message
    assert "in operator 'Asks-1' (Asks), for the key 'a'" in message


def test_a_checkpoint_of_another_program(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", "key string, ts timestamp")
    checkpoint = tmp_path / "checkpoint"

    def start(type_info: Any = LONG, **settings: Any) -> None:
        def use(self: Any, row: Any, ctx: Any) -> Any:
            self.state.update(self.value)

        class Keeps(Asks):
            def open(self, runtime_context: Any) -> None:
                self.state = runtime_context.get_state(ValueStateDescriptor("n", type_info))

        value = 1 if type_info is LONG else "one"
        source.add([{"key": "a", "ts": "1970-01-01T00:00:01Z"}])
        keyed = timed(source.stream()).key_by("key")
        stream = keyed.process(
            Keeps(at_row=use, value=value), schema="n bigint", uid="it", **settings
        )
        run(stream, checkpoint)

    start()
    with raises(StreamingQueryException, match="max_parallelism=16, this program has 17;"):
        start(max_parallelism=17)
    with raises(StreamingQueryException, match="'n' was declared as value of Long in"):
        start(Types.STRING())
