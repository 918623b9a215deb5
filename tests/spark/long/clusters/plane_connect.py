"""A control plane on Spark Connect: ``python -m tests.spark.long.clusters.plane_connect WORK``.

Writes WORK/found.json: what is said of a session whose workers are somewhere else, and what a plane
saw that was told where workers find it.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import flinkish.spark as fs
from flinkish.common.errors import UnsupportedOperationError
from flinkish.spark.session import speculates
from tests.spark.plane_functions import counting
from tests.spark.sessions import session


def refusal(*asked: SparkSession) -> str:
    try:
        with fs.ControlPlane(*asked):
            return "nothing"
    except UnsupportedOperationError as error:
        return str(error)


def main(work: Path) -> None:
    # For the server alone: what the client sets it would find again in any case.
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.speculation=true pyspark-shell"
    spark = session("connect", work)
    found = {"session": type(spark).__module__, "given": refusal(spark), "active": refusal()}
    with fs.ControlPlane(spark, host="127.0.0.1", heartbeat_interval=50) as plane:
        frame = spark.range(0, 20, 1, 2)
        found["count"] = frame.mapInArrow(counting(plane), frame.schema).count()  # type: ignore[assignment]
        found["speculates"] = speculates(spark)  # type: ignore[assignment]
        found["counters"] = plane.counters()["counting"]  # type: ignore[assignment]
    (work / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
