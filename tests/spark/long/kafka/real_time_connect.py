"""An operator after another in real-time mode, by a client of Spark Connect.

    real_time_connect.py SETTINGS

Runs a query over a topic of numbers until it is killed; the server is a process of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import flinkish.spark as fs
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.long.kafka.real_time import session
from tests.spark.long.kafka.real_time_operators import OUT, WINDOW_MS, Again, Spans, numbers, start

ROWS, RESULTS = "connected-rows", "connected"  # topics


def main(settings: dict[str, str]) -> None:
    spark = fs.configure(session(settings, cores=8, connect=True), real_time=True)
    checkpoint = Path(settings["folder"]) / "checkpoint"
    state = fs.StateSettings(backend="versioned", checkpoint=str(checkpoint))
    keyed = numbers(spark, settings, ROWS).key_by("key")
    again = keyed.process(Again(), schema=OUT, max_parallelism=4, state=state)
    windows = again.key_by("key").window(
        TumblingEventTimeWindows.of(WINDOW_MS), max_parallelism=4, state=state
    )
    spans = windows.process(Spans(), schema=OUT).to_df()
    start(spans, settings, RESULTS, checkpoint).awaitTermination()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
