"""A query whose only key has much output in one batch, beside a small heap of the JVM.

    hot_key.py WORK HEAP ROWS BYTES

Prints the rows and bytes of the output.  ROWS rows have BYTES of output each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.datastream.functions import KeyedProcessFunction
from tests.spark.sessions import LOCAL, session


class Long(KeyedProcessFunction):
    """A long text for each row."""

    def __init__(self, size: int) -> None:
        self.text = "x" * size

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value.n, self.text


def main(work: Path, heap: str, rows: int, size: int) -> None:
    spark = session(LOCAL, work, {"spark.driver.memory": heap})
    spark.range(rows).select(F.lit("k").alias("key"), F.col("id").alias("n")).coalesce(
        1
    ).write.parquet(str(work / "rows"))
    found = []

    def count(batch: DataFrame, number: int) -> None:
        found.extend(batch.select(F.count("n"), F.sum(F.length("text"))).first() or ())

    stream = spark.readStream.schema("key string, n bigint").parquet(str(work / "rows"))
    output = (
        fs.DataStream(stream)
        .key_by("key")
        .process(Long(size), schema="n bigint, text string", max_parallelism=4)
    )
    query = (
        output.to_df()
        .writeStream.foreachBatch(count)
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    print(*found)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
