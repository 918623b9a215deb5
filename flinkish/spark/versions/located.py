"""Facts of a query that the driver tells its tasks: checkpoint, run, and why it is refused."""

from __future__ import annotations

import atexit
from typing import Any
from weakref import WeakSet

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from flinkish.spark.internals import running_query
from flinkish.spark.query_run import RUN, told_run
from flinkish.spark.session import context_of
from flinkish.spark.versions.batch import CHECKPOINT, REFUSED

__all__ = ["tell_checkpoints"]

_LATE_OFFSETS = (
    "this query has the option asyncProgressTrackingEnabled, with which Spark starts a batch "
    "before its offsets are in the checkpoint, and leaves out some of them: state versioned by "
    "batch could not tell which batch it belongs to; leave the option out, or keep no state in the "
    "query"
)

_told: WeakSet[SparkSession] = WeakSet()


class _Teller(StreamingQueryListener):
    """Sets local properties on the thread of a query before its first batch.

    Spark calls listeners of a start on that thread, and its jobs inherit what is set there.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def onQueryStarted(self, event: Any) -> None:
        context = self._spark.sparkContext
        context.setLocalProperty(RUN, told_run(str(event.id), str(event.runId)))
        found = running_query(self._spark, str(event.id))
        if found is not None:
            checkpoint, late_offsets = found
            context.setLocalProperty(CHECKPOINT, checkpoint)
            context.setLocalProperty(REFUSED, _LATE_OFFSETS if late_offsets else "")

    def onQueryProgress(self, event: Any) -> None:
        pass

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


def tell_checkpoints(spark: SparkSession) -> None:
    """Make every query of a session tell its workers its checkpoint and its run.

    On Spark Connect listeners are far from the query's thread, and nobody tells them.
    """
    if context_of(spark) is not None and spark not in _told:
        _told.add(spark)
        teller = _Teller(spark)
        spark.streams.addListener(teller)
        # Else Spark would go on to call a Python that is no longer there, and log each time.
        atexit.register(spark.streams.removeListener, teller)
