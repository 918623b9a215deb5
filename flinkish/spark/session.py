"""The settings and packages that stateful operators in Python need of Spark."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys

from pyspark import SparkContext
from pyspark.sql import SparkSession

from flinkish.common.durations import DurationLike
from flinkish.common.errors import IllegalStateError, MissingDependencyError
from flinkish.spark.internals import use_python
from flinkish.spark.real_time_settings import configure_real_time

__all__ = [
    "SETTINGS",
    "check_dependencies",
    "check_session",
    "check_versioned_session",
    "configure",
    "context_of",
    "driver_host",
    "is_local",
    "speculates",
]

_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"

# What `configure` sets.  The provider and the format are required, the others make batches cheaper.
SETTINGS = {
    _PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # A batch writes what it changed, not a snapshot of RocksDB.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Names files of state by the attempt that wrote them, so that a late one replaces none.
    _FORMAT: "2",
    # Counting rows makes every write read first.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # As up to Spark 4.0, and as always with Spark's own stateful operators: adaptive execution runs
    # each stage of a micro-batch as a job, and plans again between them.
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
}


def configure(
    spark: SparkSession, *, real_time: bool = False, buffer_timeout: DurationLike = 5
) -> SparkSession:
    """Set a session up for flinkish and return it.

    Sets what `SETTINGS` holds for queries started from now on; a query that has a checkpoint
    already keeps the settings it was first started with, where Spark remembers them there.

    With ``real_time`` the keyed operators over streams that are defined from now on are for Spark's
    real-time mode, and `REAL_TIME_SETTINGS` are set, too.  UnsupportedOperationError on a release
    before 4.3; IllegalStateError if the session was started without `REAL_TIME_AT_START`.
    ``buffer_timeout`` is Flink's: rows wait for others for so long at most before they go to a
    Python worker, if some have gone just before, and so do timers on processing time.  0 is for the
    least latency, and takes more CPU.
    """
    check_dependencies()
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    _use_this_python(spark)
    _use_this_path(spark)
    if real_time:
        configure_real_time(spark, buffer_timeout)
    return spark


def _use_this_python(spark: SparkSession) -> None:
    """Have local workers run the interpreter of this program.

    Spark starts whatever "python3" the path finds, which outside an activated environment has
    neither pyarrow nor flinkish.  A cluster's workers, and a choice already made, are left alone.
    """
    context = context_of(spark)
    if context is None or not is_local(context):
        return
    chosen = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if not chosen:
        use_python(context, sys.executable)


def _use_this_path(spark: SparkSession) -> None:
    """Let local workers import what this program can, such as modules beside its script.

    Python puts the script's directory only on the path of the script's own process.
    """
    context = context_of(spark)
    if context is None or not is_local(context):
        return
    installed = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix})
    places = [os.path.abspath(place or os.curdir) for place in sys.path]
    own = [one for one in places if os.path.isdir(one) and not one.startswith(installed)]
    # It is sent with each function.
    before = context.environment.get("PYTHONPATH", "").split(os.pathsep)
    paths = [one for one in dict.fromkeys([*own, *before]) if one]
    context.environment["PYTHONPATH"] = os.pathsep.join(paths)


def context_of(spark: SparkSession) -> SparkContext | None:
    """The context of a session; None for a client of Spark Connect, which has none."""
    return getattr(spark, "sparkContext", None)


def is_local(context: SparkContext | None) -> bool:
    """Whether all workers are on this machine, as far as the master says; not of a client."""
    return context is not None and (context.master or "").startswith("local")


def driver_host(context: SparkContext) -> str:
    """Where workers reach this process."""
    if is_local(context):
        return "127.0.0.1"
    return context.getConf().get("spark.driver.host") or "127.0.0.1"


def check_session(spark: SparkSession) -> None:
    """IllegalStateError unless the session can run transformWithState."""
    check_dependencies()
    provider = spark.conf.get(_PROVIDER, "")
    if "RocksDB" not in (provider or ""):
        raise IllegalStateError(
            f"keyed operators need Spark's RocksDB state store, and {_PROVIDER} is {provider!r}; "
            "call flinkish.spark.configure(spark) before the query is defined"
        )
    version = spark.conf.get(_FORMAT, "1") or "1"
    if int(version) < 2:
        raise IllegalStateError(
            f"keyed operators need Spark's state checkpoints in format 2, and {_FORMAT} is "
            f"{version}: in format 1 two attempts of a task write the same files; call "
            "flinkish.spark.configure(spark) before the query is defined"
        )


def check_versioned_session(spark: SparkSession) -> None:
    """IllegalStateError unless the session can run operators whose state is versioned by batch."""
    check_dependencies()
    if speculates(spark):
        raise IllegalStateError(
            "spark.speculation is true, so two attempts of a task may run side by side, and state "
            "versioned by batch could be of the one whose output does not count: start the session "
            "with spark.speculation=false, or take StateSettings(backend='store')"
        )


def speculates(spark: SparkSession | None) -> bool:
    """Whether Spark may run attempts of a task side by side."""
    if spark is None:
        return False
    context = context_of(spark)
    # A session of Spark Connect shows the settings that its server was started with.
    conf = spark.conf if context is None else context.getConf()
    return str(conf.get("spark.speculation", "false")).lower() == "true"


def check_dependencies() -> None:
    """MissingDependencyError unless what Spark's Python operators import is installed.

    Spark installs none of these with itself, and without protobuf its worker dies with a message
    that does not say so.
    """
    for module in ("google.protobuf", "pandas", "pyarrow"):
        try:
            importlib.import_module(module)
        except ImportError as error:
            package = "protobuf" if module == "google.protobuf" else module
            raise MissingDependencyError.of(
                package, feature="a keyed operator on Spark", extra="spark"
            ) from error
