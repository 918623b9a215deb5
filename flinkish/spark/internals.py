"""All that flinkish uses of Spark and Spark does not promise to keep, in one place.

Each use says since when it is as it is, and on which releases it was run.  No other module imports
what pyspark does not export, nor names an attribute of its objects that it does not document;
`tests/test_layers.py` looks.  `ci/floor.sh` runs the oldest release, `ci/test.sh` the newest.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
from pyspark import SparkContext, cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas import types
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType

from flinkish._core.values import values
from flinkish.common import pickles

__all__ = [
    "FilesOfSpark",
    "KafkaTopics",
    "Pickler",
    "PlanNode",
    "analyzed_plan",
    "arrow_schema",
    "column_in_jvm",
    "dumps",
    "end_after_batch",
    "has_ended",
    "input_is_whole",
    "loads",
    "map_in_jvm",
    "optimized_plan",
    "running_query",
    "spark_schema",
    "use_python",
]

# `pyspark.cloudpickle` is the one that Spark's workers have: an installed cloudpickle may be of
# another release, or missing there.  Run on 4.1.4 and 4.3.0.
dumps: Callable[[Any], bytes] = cloudpickle.dumps
loads: Callable[[bytes], Any] = cloudpickle.loads
Pickler: type[Any] = cloudpickle.Pickler
pickles.use(dumps)
values.use_pickler(pickles.dumps)

# `to_arrow_schema(timezone=)` is of 4.2; before it zones were UTC unless `timestamp_utc=False`.
# `DataFrame.toArrow().schema`, which is public, would run a job.  Run on 4.1.4 and 4.3.0.
_TO_ARROW: Callable[..., pa.Schema] = types.to_arrow_schema
_IN_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(_TO_ARROW).parameters else {}
)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema in which Spark exchanges such rows with Python; timestamps in UTC."""
    return _TO_ARROW(schema, **_IN_UTC)


def spark_schema(schema: pa.Schema) -> StructType:
    """The other way.

    Whether a timestamp without zone is a `timestamp_ntz` is said here, since the default became so
    with 4.2.  Run on 4.1.4 and 4.3.0.
    """
    return types.from_arrow_schema(schema, prefer_timestamp_ntz=True)


def input_is_whole() -> bool | None:
    """Whether the input of the task that runs here came to its end; None if that cannot be seen.

    If the JVM dies, or gives the task up, its stream of Arrow batches just ends, as if there were
    no more.  After a whole one a marker follows, which is in the buffer of `pyspark.worker` or on
    its way; after a broken one there is nothing, for ever.  Run on 4.1.4 and 4.3.0.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "main" and "infile" in frame.f_locals:
            return bool(frame.f_locals["infile"].peek(1))
        frame = frame.f_back
    return None


def running_query(spark: SparkSession, query_id: str) -> tuple[str, bool] | None:
    """A running query's checkpoint, and whether its offsets come late.  Run on 4.1.4 and 4.3.0."""
    query = spark._jsparkSession.streams().get(query_id)
    if query is None:
        return None
    execution = query.streamingQuery()
    late = execution.getClass().getSimpleName().startswith("AsyncProgressTracking")
    return execution.resolvedCheckpointRoot(), late


def _jvm_of(spark: SparkSession) -> Any:
    """The classes of the driver's JVM, by their names; of a classic session."""
    return spark._jvm


class FilesOfSpark:
    """The file systems that Spark knows, by the paths that it takes; of a classic session.

    Python's SparkSession does not wrap Hadoop's FileSystem, nor its configuration.  Run on 4.3.0.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._path = _jvm_of(spark).org.apache.hadoop.fs.Path
        self._conf = spark._jsparkSession.sessionState().newHadoopConf()

    def qualified(self, path: str) -> str:
        """The path with scheme and all directories before it."""
        found = self._path(path)
        return str(found.getFileSystem(self._conf).makeQualified(found).toString())

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory."""
        found = self._path(path)
        return bool(found.getFileSystem(self._conf).exists(found))

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted; none if there is no such directory."""
        found = self._path(directory)
        files = found.getFileSystem(self._conf)
        if not files.exists(found):
            return []
        return sorted(one.getPath().getName() for one in files.listStatus(found))

    def rename(self, path: str, target: str) -> None:
        """Rename a file or directory to a path that does not exist; OSError if that failed."""
        source = self._path(path)
        if not source.getFileSystem(self._conf).rename(source, self._path(target)):
            raise OSError(f"the file system has not renamed {path!r} to {target!r}")

    def delete(self, path: str) -> None:
        """Delete a file, or a directory and all in it."""
        found = self._path(path)
        found.getFileSystem(self._conf).delete(found, True)


class KafkaTopics:
    """The offsets of the topics that Spark's connector is to read: a `TopicOffsets`.

    ``options`` are the connector's, of which Kafka's consumer takes those that begin with
    ``kafka.``.  It is the consumer that the connector brings, in the driver's JVM, since Spark does
    not say which partitions a topic has.  Close it.  Run on 4.3.0 with the connector of 4.2.0.
    """

    def __init__(self, spark: SparkSession, options: Mapping[str, str], group: str | None) -> None:
        self.group = group
        jvm = _jvm_of(spark)
        settings = {
            name.removeprefix("kafka."): value
            for name, value in options.items()
            if name.startswith("kafka.")
        }
        if group is not None:
            settings["group.id"] = group
        settings |= {"enable.auto.commit": "false", "allow.auto.create.topics": "false"}
        for what in ("key", "value"):
            reader = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
            settings[f"{what}.deserializer"] = reader
        properties = jvm.java.util.Properties()
        for name, value in settings.items():
            properties.setProperty(name, value)
        self._jvm = jvm
        self._properties = properties
        self._consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
        partition = jvm.org.apache.kafka.common.TopicPartition
        self._parts = [partition(*part) for part in self._read(options)]

    @staticmethod
    def of(
        spark: SparkSession, options: Mapping[str, str], group: str | None
    ) -> KafkaTopics | None:
        """The offsets that a broker knows; None if the session lacks the connector."""
        consumer = _jvm_of(spark).org.apache.kafka.clients.consumer.KafkaConsumer
        return KafkaTopics(spark, options, group) if callable(consumer) else None

    def _read(self, options: Mapping[str, str]) -> list[tuple[str, int]]:
        """The partitions that are read."""
        if "assign" in options:
            by_topic: dict[str, list[int]] = json.loads(options["assign"])
            return [(topic, part) for topic, parts in by_topic.items() for part in parts]
        topics = options.get("subscribe", "").split(",")
        if "subscribePattern" in options:
            names = self._jvm.java.util.regex.Pattern.compile(options["subscribePattern"])
            known = self._consumer.listTopics().keySet()
            internal = self._jvm.org.apache.kafka.common.internals.Topic.isInternal
            fitting = (topic for topic in known if names.matcher(topic).matches())
            topics = sorted(topic for topic in fitting if not internal(topic))
        parts = ((topic, self._consumer.partitionsFor(topic)) for topic in topics)
        return [(topic, part.partition()) for topic, found in parts for part in found or ()]

    def beginnings(self) -> dict[tuple[str, int], int]:
        """The first offset that each partition has."""
        return self._by_partition(self._consumer.beginningOffsets(self._java_list()))

    def ends(self) -> dict[tuple[str, int], int]:
        """The offset after the last record of each partition."""
        return self._by_partition(self._consumer.endOffsets(self._java_list()))

    def committed(self) -> dict[tuple[str, int], int]:
        """The offsets of the consumer group, for partitions that have any."""
        parts = self._jvm.java.util.HashSet(self._java_list())
        return self._by_partition(self._consumer.committed(parts))

    def since(self, time: int) -> dict[tuple[str, int], int]:
        """The first offset of this time (ms) or later, for partitions that have such records."""
        kafka = self._jvm.org.apache.kafka.clients.admin
        asked = self._jvm.java.util.HashMap()
        for part in self._parts:
            asked.put(part, kafka.OffsetSpec.forTimestamp(time))
        admin = kafka.AdminClient.create(self._properties)
        try:
            found = self._by_partition(admin.listOffsets(asked).all().get())
        finally:
            admin.close()
        return {part: offset for part, offset in found.items() if offset >= 0}

    def _java_list(self) -> Any:
        parts = self._jvm.java.util.ArrayList()
        for part in self._parts:
            parts.add(part)
        return parts

    @staticmethod
    def _by_partition(offsets: Any) -> dict[tuple[str, int], int]:
        """Offsets, from numbers or Java's objects, by partition; a partition may have None."""
        found = {}
        for part in offsets:
            value = offsets[part]
            if value is not None:
                offset = value if isinstance(value, int) else value.offset()
                found[part.topic(), part.partition()] = offset
        return found

    def close(self) -> None:
        """Close the connections to the broker."""
        self._consumer.close()


def has_ended(query: StreamingQuery) -> bool:
    """Whether the thread of a query has ended: `isActive` is false while one that stops still runs.

    Run on 4.3.0.
    """
    if query.isActive:
        return False
    return not query._jsq.streamingQuery().queryExecutionThread().isAlive()


def end_after_batch(query: StreamingQuery) -> None:
    """End a query after its current micro-batch, and wait for that.

    `StreamingQuery.stop` first sets `StreamExecution.state`, which the query reads before each
    batch, and then interrupts the batch.  This only sets the state, unless the query is waiting for
    its next trigger, which may be hours away.  Run on 4.3.0.
    """
    execution = query._jsq.streamingQuery()
    thread, state = execution.queryExecutionThread(), execution.state()
    package = state.get().getClass().getPackageName()
    terminated = execution.getClass().getClassLoader().loadClass(f"{package}.TERMINATED$")
    state.set(terminated.getField("MODULE$").get(None))
    while thread.isAlive():
        thread.join(20)
        waits = thread.getState().toString() == "TIMED_WAITING"
        if waits and not execution.status().isTriggerActive():
            execution.stop()


def use_python(context: SparkContext, executable: str) -> None:
    """Have workers run a Python unless the context was told of another.

    `SparkContext.pythonExec` is read when a function is sent, the setting `spark.pyspark.python`
    only when the context starts.  Run on 4.1.4 and 4.3.0.
    """
    if context.pythonExec != executable:
        context.pythonExec = executable


# Class loaders of the driver's JVM, by the application and the source whose classes they have.
_COMPILED: dict[tuple[str, str], Any] = {}


def map_in_jvm(
    frame: DataFrame,
    schema: StructType,
    source: str,
    name: str,
    arguments: Sequence[int | Sequence[int]],
) -> DataFrame:
    """The rows that a class in Java makes of those of each partition; for a classic session.

    ``name`` is a `MapPartitionsFunction` of Rows in the ``source``.  Janino compiles it, as it does
    the code that Spark generates.  Its constructor has the ``arguments``: ints, longs and int[].
    Executors get a jar of the classes.  Run on 4.3.0.
    """
    context = frame.sparkSession.sparkContext
    jvm, gateway = _reached(context)
    constructor = _constructor(context, source, name)
    given = gateway.new_array(jvm.java.lang.Object, len(arguments))
    kinds = [kind.getName() for kind in constructor.getParameterTypes()]
    for at, (value, kind) in enumerate(zip(arguments, kinds, strict=True)):
        if isinstance(value, int):
            given[at] = jvm.java.lang.Long.valueOf(value) if kind == "long" else value
            continue
        given[at] = gateway.new_array(jvm.int, len(value))
        for index, one in enumerate(value):
            given[at][index] = one
    java_schema = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
    encoder = jvm.org.apache.spark.sql.Encoders.row(java_schema)
    mapped = frame._jdf.mapPartitions(constructor.newInstance(given), encoder)
    return DataFrame(mapped, frame.sparkSession)


def column_in_jvm(spark: SparkSession, source: str, name: str) -> Column:
    """The column that a class in Java gives, which has no arguments; for a classic session.

    Compiled as for `map_in_jvm`.  Run on 4.3.0.
    """
    context = spark.sparkContext
    jvm, gateway = _reached(context)
    made = _constructor(context, source, name).newInstance(gateway.new_array(jvm.Object, 0))
    return Column(made.column())


def _constructor(context: SparkContext, source: str, name: str) -> Any:
    """The constructor of a class in Java, of a source that is compiled once an application."""
    compiled = (context.applicationId, source)
    if compiled not in _COMPILED:
        _COMPILED[compiled] = _compile(context, source)
    (constructor,) = _COMPILED[compiled].loadClass(name).getConstructors()
    return constructor


def _reached(context: SparkContext) -> tuple[Any, Any]:
    """The driver's JVM, and the gateway to it."""
    return context._jvm, context._gateway


def _compile(context: SparkContext, source: str) -> Any:
    """A class loader with the classes of a source, which executors load from a jar."""
    jvm, _ = _reached(context)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(source)
    codes = compiler.getBytecodes()
    jar = Path(tempfile.mkdtemp(dir=context._temp_dir)) / "flinkish.jar"
    with zipfile.ZipFile(jar, "w") as file:
        for name in codes:
            file.writestr(name.replace(".", "/") + ".class", bytes(codes[name]))
    context._jsc.addJar(str(jar))
    return compiler.getClassLoader()


@dataclass(frozen=True)
class PlanNode:
    """A node of Spark's plan of a query: its name, and that of its Python function or source.

    ``join`` is the type of a join, ``subqueries`` are those that give its expressions their values.
    """

    name: str
    function: str
    join: str
    children: tuple[PlanNode, ...]
    subqueries: tuple[PlanNode, ...]


def optimized_plan(frame: DataFrame) -> PlanNode:
    """The plan that Spark's optimizer makes of a query, which is not run; of a classic session.

    `DataFrame.explain` prints it, and cuts long nodes.  Names are those of Catalyst's classes;
    a join has a `joinType`, and `MapInArrow` shows its function before its arguments.  Run on
    4.1.4 and 4.3.0.
    """
    analyzed = frame._jdf.queryExecution().analyzed()
    return _plan_node(frame._jdf.sparkSession().sessionState().optimizer().execute(analyzed))


def analyzed_plan(frame: DataFrame) -> PlanNode:
    """The plan of a query as it was written, whose leaves are its sources; of a classic session.

    One that is a stream is a `StreamingRelation` or a `StreamingRelationV2`, which has the name of
    its provider.  Run on 4.3.0.
    """
    return _plan_node(frame._jdf.queryExecution().analyzed())


def _plan_node(plan: Any) -> PlanNode:
    name = plan.nodeName()
    function = ""
    if name == "MapInArrow":
        function = plan.functionExpr().toString().partition("(")[0]
    elif name == "StreamingRelationV2":
        function = plan.sourceName()
    return PlanNode(
        name,
        function,
        plan.joinType().toString() if name == "Join" else "",
        tuple(map(_plan_node, _listed(plan.children()))),
        tuple(map(_plan_node, _listed(plan.subqueries()))),
    )


def _listed(found: Any) -> list[Any]:
    """The elements of a Seq of Scala."""
    return [found.apply(at) for at in range(found.size())]
