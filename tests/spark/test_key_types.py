"""Keys of every type, each in an operator of its own, all in one streaming query."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flinkish.common import Row
from flinkish.common.timestamps import MIN_TIMESTAMP
from tests.models.keyed_process import KeyedProcessModel
from tests.spark.functions import Silence
from tests.spark.support import Source, by_key, start, timed, watermarks
from tests.spark.traffic import OUT, feed, random_batches

SCHEMA = "key string, n bigint, ts timestamp"
DAY = date(1969, 12, 28)
STEP = timedelta(seconds=1, microseconds=1)
# The column of each type, made of a small number, in SQL and in Python.
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
TYPES: dict[str, tuple[str, Any]] = {
    "int": ("cast(x - 5 as int)", lambda x: x - 5),
    "long": ("x * 100000000000", lambda x: x * 100_000_000_000),
    "string": ("concat('käy', x)", lambda x: f"käy{x}"),
    "date": ("date_add(date'1969-12-28', cast(x as int))", lambda x: DAY + timedelta(days=x)),
    "timestamp": (
        "timestamp_micros(x * 1000001)",
        lambda x: EPOCH + x * STEP,
    ),
    "decimal": ("cast(x / 4 as decimal(12, 2))", lambda x: Decimal(x * 25).scaleb(-2).normalize()),
}


def test_every_type_of_key(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(71, batches=2, rows=50, keys=8)
    feed(source, batches)
    frame = source.stream().withColumn("x", F.expr("n % 8"))
    for name, (sql, _) in TYPES.items():
        frame = frame.withColumn(name, F.expr(sql))

    keyed: dict[str, tuple[Any, Any]] = {name: (name, make) for name, (_, make) in TYPES.items()}
    keyed["pair"] = (["key", "x"], None)
    keyed["function"] = (lambda row: (row.key, row.x), None)
    streams, united = {}, None
    for name, (key, _) in keyed.items():
        streams[name] = (
            timed(frame).key_by(key).process(Silence(), schema=OUT, uid=name, max_parallelism=3)
        )
        out = streams[name].to_df().select(F.lit(name).alias("type"), "*")
        united = out if united is None else united.union(out)
    found: dict[int, list[tuple[Any, ...]]] = {}

    def write(rows: DataFrame, batch: int) -> None:
        found[batch] = [tuple(row) for row in rows.collect()]

    assert united is not None
    writer = united.writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = start(writer.trigger(availableNow=True))
    query.awaitTermination()

    marks = watermarks([[row["at"] for row in rows] for rows in batches])
    for name, (_, make) in keyed.items():

        def key_of(row: Any, make: Any = make) -> Any:
            return make(row.n % 8) if make else (row.key, row.n % 8)

        model = KeyedProcessModel(Silence(), key_of)
        for batch, (rows, mark) in enumerate(zip([*batches, []], marks, strict=True)):
            elements = [(Row(key=row["key"], n=row["n"]), row["at"]) for row in rows]
            given = model.batch(elements, MIN_TIMESTAMP if mark is None else mark)
            mine = by_key(row[1:] for row in found[batch] if row[0] == name)
            assert mine == by_key(value for tag, value, _ in given if tag == ""), (name, batch)
        counted = streams[name].statistics(query)
        assert counted["rows"] == model.counts["rows"]
        assert counted["timers_fired"] == model.counts["timers_fired"]
