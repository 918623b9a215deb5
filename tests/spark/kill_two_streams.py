"""A program that is killed: two connected streams over directories of micro-batches.

Run as ``python -m tests.spark.kill_two_streams WORK``; WORK/in holds the batches of both.  Ends
with WORK/done when all are through.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from tests.spark.kill_driver import session
from tests.spark.support import GROUPS, Source, settings, timed
from tests.spark.two_streams import ORDERS, PAYMENTS, SIDE, TOTALS, Totals


def main(work: Path) -> None:
    spark = session(work)
    orders = timed(Source(spark, work / "in" / "orders", ORDERS).stream(), 1000)
    payments = timed(Source(spark, work / "in" / "payments", PAYMENTS).stream(), 1000, column="at")
    # Compacts all the time, so that kills meet compactions.
    state = settings(work / "tables", compact_bytes=1, compact_factor=1.0, compact_pieces=3)
    stream = (
        orders.key_by("customer")
        .connect(payments.key_by("payer"))
        .process(Totals(), schema=TOTALS, max_parallelism=GROUPS, state=state)
    )

    def write(batch: int, main: DataFrame, side: DataFrame) -> None:
        rows = {"": [list(row) for row in main.collect()]}
        rows["side"] = [list(row) for row in side.collect()]
        hidden = work / "out" / f".{batch:03}"
        hidden.write_text(json.dumps(rows))
        hidden.rename(work / "out" / f"{batch:03}.json")

    (work / "out").mkdir(exist_ok=True)
    writer = stream.foreach_batch(write, SIDE).option(
        "checkpointLocation", str(work / "checkpoint")
    )
    writer.trigger(availableNow=True).start().awaitTermination()
    (work / "done").touch()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
