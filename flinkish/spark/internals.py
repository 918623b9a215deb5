"""All that flinkish uses of Spark and Spark does not promise to keep, in one place.

Each use says since when it is as it is, and on which releases it was run.  No other module imports
what pyspark does not export, nor names an attribute of its objects that it does not document;
`tests/test_layers.py` looks.  `ci/floor.sh` runs the oldest release, `ci/test.sh` the newest.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
from pyspark import SparkContext, cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas import types
from pyspark.sql.types import StructType

__all__ = [
    "PlanNode",
    "analyzed_plan",
    "arrow_schema",
    "checkpoint_of",
    "column_in_jvm",
    "dumps",
    "input_is_whole",
    "loads",
    "map_in_jvm",
    "optimized_plan",
    "spark_schema",
    "use_python",
]

# `pyspark.cloudpickle` is the one that Spark's workers have: an installed cloudpickle may be of
# another release, or missing there.  Run on 4.1.4 and 4.3.0.
dumps: Callable[[Any], bytes] = cloudpickle.dumps
loads: Callable[[bytes], Any] = cloudpickle.loads

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


def checkpoint_of(spark: SparkSession, query_id: str) -> str | None:
    """The location of a running query's checkpoint; None if it cannot be had.

    `StreamExecution.resolvedCheckpointRoot` says it, which Python's StreamingQuery does not wrap.
    Run on 4.1.4 and 4.3.0.
    """
    query = spark._jsparkSession.streams().get(query_id)
    if query is None:
        return None
    location: str = query.streamingQuery().resolvedCheckpointRoot()
    return location


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
