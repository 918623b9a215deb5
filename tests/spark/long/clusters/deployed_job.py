"""A program of a user whose functions are in a module of their own, for `spark-submit`.

Run as ``spark-submit ... deployed_job.py WORK KIND...``; prints FOUND and what each kind of
operator gave.  It imports nothing of the tests, since it runs where they are not.
"""

import json
import sys
import uuid
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from shop_rules import Add, AddBoth, AddInWindow, AddRates, Pair, shop_of

from flinkish.common import Duration, Types, WatermarkStrategy
from flinkish.spark import DataStream, KeyedStream, configure
from flinkish.state.descriptors import MapStateDescriptor
from flinkish.windowing import TumblingEventTimeWindows

SALES = "shop string, amount long, ts timestamp"
TOTALS = "shop string, total long"
RATES = MapStateDescriptor("rates", Types.STRING(), Types.LONG())


def sales(spark: SparkSession, work: Path) -> KeyedStream:
    rows = DataStream(spark.readStream.schema(SALES).parquet(str(work / "sales")))
    timed = rows.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)), column="ts"
    )
    return timed.key_by(shop_of)


def outputs(spark: SparkSession, work: Path, kind: str) -> DataFrame:
    one, other = sales(spark, work), sales(spark, work)
    if kind == "keyed":
        return one.process(Add(), TOTALS).to_df()
    if kind == "windows":
        windows = one.window(TumblingEventTimeWindows.of("10 seconds"))
        return windows.process(AddInWindow(), TOTALS).to_df()
    if kind == "two inputs":
        return one.connect(other).process(AddBoth(), TOTALS).to_df()
    if kind == "broadcast":
        rules = DataStream(spark.readStream.schema(SALES).parquet(str(work / "sales")))
        return one.connect(rules.broadcast(RATES)).process(AddRates(), TOTALS).to_df()
    joined = one.interval_join(other).between(0, 0)
    return joined.process(Pair(), TOTALS).to_df()


def main(spark: SparkSession, work: Path, kinds: list[str]) -> None:
    checkpoints = work / f"checkpoints-{uuid.uuid4()}"
    found = {}
    for number, kind in enumerate(kinds):
        table = f"found_{number}"
        writer = outputs(spark, work, kind).writeStream.format("memory").queryName(table)
        writer = writer.option("checkpointLocation", str(checkpoints / table))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        found[kind] = sorted(map(list, spark.table(table).collect()))
    print("FOUND", json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(configure(SparkSession.builder.getOrCreate()), Path(sys.argv[1]), sys.argv[2:])
