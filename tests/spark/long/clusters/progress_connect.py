"""Live figures on Spark Connect: ``python -m tests.spark.long.clusters.progress_connect WORK``.

Writes WORK/found.json: the figures while calls were under way, and after.
"""

import json
import sys
import threading
from pathlib import Path

import flinkish.spark as fs
from flinkish.common.errors import IllegalArgumentError
from tests.spark.progress_functions import Priced
from tests.spark.sessions import session
from tests.waiting import PATIENCE, until


def main(work: Path) -> None:
    spark = session("connect", work)
    found: dict[str, object] = {"session": type(spark).__module__}
    rows = spark.range(0, 20, 1, 2).withColumnRenamed("id", "n")
    fn = Priced(work / "gate", at_once=5)
    with fs.CallProgress() as own:
        try:
            fs.async_map(rows, fn, "n bigint, m bigint", progress=own)
        except IllegalArgumentError as error:
            found["refused"] = str(error)
    with fs.CallProgress(work / "progress") as progress:
        frame = fs.async_map(rows, fn, "n bigint, m bigint", on_error="drop", progress=progress)
        action = threading.Thread(target=frame.collect, daemon=True)
        action.start()
        until(lambda: progress.statistics()["in_flight"] == 15, "calls under way")
        until(lambda: progress.statistics()["results"] == 4, "the calls made at once")
        found["before"] = progress.statistics()
        (work / "gate").touch()
        action.join(PATIENCE)
        found["after"] = progress.statistics()
    (work / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
