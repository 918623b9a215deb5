"""What a fresh worker of Spark loads to run a function, and above all what it does not."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import flinkish.spark as fs
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.loaded_modules import Keyed, Loaded, Windowed, called
from tests.spark.support import Source, run, timed

OUT = "worker string, modules string"

# What plans a query, and what a task of it needs only if it has calls, channels or a plane.
DRIVER = (
    *(
        "flinkish.spark.streams.data_stream",
        "flinkish.spark.streams.connected",
        "flinkish.spark.session",
    ),
    *("flinkish.spark.streams.broadcast", "flinkish.spark.streams.windowed"),
    *("flinkish.spark.calls.async_map", "flinkish.spark.streams.asynchronous"),
    *("flinkish.spark.control_plane.plane", "flinkish.spark.sources.source", "pyarrow.dataset"),
)
NETWORK = ("flinkish.rpc", "flinkish.spark.control_plane", "flinkish.spark.limits", "msgspec")
TASKS = (
    "flinkish.task",
    "flinkish.spark.tasks.run_task",
    "flinkish.spark.tasks.run",
    "flinkish.purgatory",
)
CALLS = ("flinkish.operators.async_wait", "flinkish.operators.async_loop", "asyncio", "ssl")
WINDOWS = (
    "flinkish.windowing",
    "flinkish.operators.window_engine",
)
COLUMNS = ("flinkish.operators.vector_window", "flinkish.spark.keyed.columns.run")
TWO_INPUTS = ("flinkish.operators.two_input", "flinkish.spark.keyed.two_inputs")
ENGINES = ("flinkish.operators.base", "flinkish.mailbox", "flinkish.functions.aggregates")


@pytest.fixture
def fresh(spark: SparkSession) -> Iterator[str]:
    """The name of workers that nothing has run in: Spark keeps some for each environment."""
    name = uuid4().hex
    variables = spark.sparkContext.environment
    variables["FRESH_WORKER"] = name
    yield name
    del variables["FRESH_WORKER"]


def check(rows: list[Loaded], fresh: str, *unwanted: str) -> None:
    """Rows came, from fresh workers, which have loaded none of these modules nor any below."""
    assert rows
    assert {worker for worker, _ in rows} == {fresh}
    loaded = {name for _, modules in rows for name in modules.split()}
    assert "flinkish.common" in loaded
    found = [
        name
        for name in sorted(loaded)
        if any(name == other or name.startswith(f"{other}.") for other in unwanted)
    ]
    assert not found, f"the worker has also loaded {', '.join(found)}"


def feed(source: Source) -> None:
    for start in (0, 2000):
        source.add({"key": f"k{n}", "ts": f"1970-01-01T00:00:0{start // 1000}Z"} for n in range(4))


def test_a_keyed_function(spark: SparkSession, tmp_path: Path, fresh: str) -> None:
    source = Source(spark, tmp_path / "in", "key string, ts timestamp")
    feed(source)
    stream = timed(source.stream()).key_by("key").process(Keyed(), schema=OUT, max_parallelism=2)
    rows = run(stream, tmp_path / "checkpoint").rows()
    unwanted = (*DRIVER, *NETWORK, *TASKS, *CALLS, *WINDOWS, *COLUMNS, *TWO_INPUTS, *ENGINES)
    check(rows, fresh, *unwanted)


def test_a_window(spark: SparkSession, tmp_path: Path, fresh: str) -> None:
    source = Source(spark, tmp_path / "in", "key string, ts timestamp")
    feed(source)
    stream = (
        timed(source.stream())
        .key_by("key")
        .window(TumblingEventTimeWindows.of(1000))
        .process(Windowed(), schema=OUT)
    )
    rows = run(stream, tmp_path / "checkpoint").rows()
    check(rows, fresh, *DRIVER, *NETWORK, *TASKS, *CALLS, *COLUMNS, *TWO_INPUTS)


def test_calls(spark: SparkSession, fresh: str) -> None:
    frame = spark.range(0, 8, 1, 2).withColumnRenamed("id", "n")
    rows = [(row.worker, row.modules) for row in fs.async_map(frame, called, OUT).collect()]
    check(rows, fresh, *DRIVER, *NETWORK, *WINDOWS, *COLUMNS, *TWO_INPUTS)
