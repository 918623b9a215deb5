"""The driver's word on where the checkpoint of a query is."""

from __future__ import annotations

import atexit
from typing import Any
from weakref import WeakSet

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from flinkish.spark.internals import checkpoint_of
from flinkish.spark.session import context_of
from flinkish.spark.versions.batch import CHECKPOINT

__all__ = ["tell_checkpoints"]

_told: WeakSet[SparkSession] = WeakSet()


class _Teller(StreamingQueryListener):
    """Sets a local property on the thread of a query before its first batch.

    Spark calls listeners of a start on that thread, and its jobs inherit what is set there.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def onQueryStarted(self, event: Any) -> None:
        location = checkpoint_of(self._spark, str(event.id))
        if location is not None:
            self._spark.sparkContext.setLocalProperty(CHECKPOINT, location)

    def onQueryProgress(self, event: Any) -> None:
        pass

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


def tell_checkpoints(spark: SparkSession) -> None:
    """Have the workers of every query of a session told where its checkpoint is.

    On Spark Connect listeners are far from the query's thread, and nobody tells them.
    """
    if context_of(spark) is not None and spark not in _told:
        _told.add(spark)
        teller = _Teller(spark)
        spark.streams.addListener(teller)
        # Else Spark would go on to call a Python that is no longer there, and log each time.
        atexit.register(spark.streams.removeListener, teller)
