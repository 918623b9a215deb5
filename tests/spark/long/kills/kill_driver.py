"""A program that is killed: a query over a directory of micro-batches, into a file for each.

Run as ``python -m tests.spark.long.kills.kill_driver WORK process``; instead of ``process``
``windows``, or ``versioned``: the same with its state versioned by batch.  WORK/in holds the
batches.  Ends with WORK/done when all are through.
"""

import sys
from pathlib import Path

from tests.spark.functions import LATE, Silence
from tests.spark.killed import into_files
from tests.spark.sessions import LOCAL, session
from tests.spark.support import GROUPS, Source, settings, start, timed
from tests.spark.traffic import OUT, SCHEMA
from tests.spark.windowed import LATE_ROWS, SESSIONS, SPANS, Spans


def main(work: Path, what: str) -> None:
    spark = session(LOCAL, work)
    keyed = timed(Source(spark, work / "in", SCHEMA).stream(), 1000).key_by("key")
    # Compacts all the time, so that kills meet compactions.
    backend = "versioned" if what == "versioned" else "store"
    state = settings(
        work / "tables", compact_bytes=1, compact_factor=1.0, compact_pieces=3, backend=backend
    )
    if what == "windows":
        windows = keyed.window(SESSIONS, max_parallelism=GROUPS, state=state)
        stream = windows.side_output_late_data(LATE_ROWS).process(Spans(), schema=SPANS)
    else:
        stream = keyed.process(Silence(), schema=OUT, max_parallelism=GROUPS, state=state)
    late_tag = LATE_ROWS if what == "windows" else LATE
    writer = stream.foreach_batch(into_files(work, late_tag), late_tag).option(
        "checkpointLocation", str(work / "checkpoint")
    )
    start(writer.trigger(availableNow=True)).awaitTermination()
    (work / "done").touch()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
