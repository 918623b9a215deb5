"""Spark's settings decide in which Arrow types workers get rows, and never what comes out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import flinkish.spark as fs
from flinkish.spark import DataStream, StateSettings
from tests.spark.arrow_program import KEYED, ROWS, SCHEMA, answers, columns, last
from tests.spark.sources import Numbers
from tests.spark.support import run, start

LARGE = {"spark.sql.execution.arrow.useLargeVarTypes": "true"}
# None of these changes types; together they change everything else.
OTHERS = {
    "spark.sql.execution.arrow.compression.codec": "zstd",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    "spark.sql.execution.pandas.udf.buffer.size": "4",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}


@contextmanager
def settings(spark: SparkSession, given: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in given}
    try:
        for name, value in given.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


@pytest.fixture(scope="module")
def wanted(spark: SparkSession) -> list[list[tuple[Any, ...]]]:
    return answers(spark)


def test_batches(spark: SparkSession, wanted: list[list[tuple[Any, ...]]]) -> None:
    assert all(map(len, wanted))
    texts = {row[3] for row in wanted[-1]}
    assert texts == {"größer" * n for n in range(4)}
    for given in (LARGE, OTHERS):
        with settings(spark, given):
            assert answers(spark) == wanted


@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_streams(
    spark: SparkSession, tmp_path: Path, backend: Any, wanted: list[list[tuple[Any, ...]]]
) -> None:
    for start_row in (0, 20):
        part = spark.createDataFrame(ROWS[start_row : start_row + 20], SCHEMA).coalesce(1)
        part.write.mode("append").parquet(str(tmp_path / "in"))
    state = StateSettings(table_dir=str(tmp_path / "tables"), backend=backend)
    by_operator = dict(zip(KEYED, wanted, strict=False))
    with settings(spark, LARGE):
        for operator in (last, columns):
            reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            stream = operator(reader.parquet(str(tmp_path / "in")), state)
            found = run(stream, tmp_path / f"checkpoint-{operator.__name__}").rows()
            if operator is last:
                assert sorted(found, key=repr) == by_operator[last]
            else:  # the last windows wait for rows after them
                assert len(found) > 10
                assert set(found) <= set(by_operator[columns])


def test_sources(spark: SparkSession, tmp_path: Path) -> None:
    fs.register_source(spark, Numbers(40, waits=False), "n bigint, text string", name="arrow-rows")
    found: list[Any] = []
    with settings(spark, LARGE):
        stream = DataStream(spark.readStream.format("arrow-rows").load())
        doubled = stream.map(lambda row: (row.n, row.text * 2), schema="n bigint, text string")
        writer = doubled.to_df().writeStream.foreachBatch(
            lambda batch, _: found.extend(map(tuple, batch.collect()))
        )
        query = start(
            writer.option("checkpointLocation", str(tmp_path)), lambda query: len(found) == 40
        )
        query.stop()
    assert found == [(n, f"{n}{n}") for n in range(40)]
