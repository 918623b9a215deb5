"""PyFlink's environment: where programs begin and are executed."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from flinkish.common.configuration import Configuration
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
)
from flinkish.common.io import InputFormat
from flinkish.common.jobs import JobClient, JobExecutionResult, JobID
from flinkish.common.typeinfo import TypeInformation
from flinkish.common.watermark_strategy import WatermarkStrategy
from flinkish.environment.collected import elements_of
from flinkish.environment.configured import Configured
from flinkish.environment.connectors.base import Source
from flinkish.environment.connectors.files import StreamFormat
from flinkish.environment.connectors.kafka_functions import FlinkKafkaConsumer
from flinkish.environment.execution import Execution
from flinkish.environment.nodes import Graph, Node
from flinkish.environment.settings import RuntimeExecutionMode
from flinkish.environment.sinks import collect_sink
from flinkish.environment.streams import DataStream

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input
    from flinkish.spark.jobs.job import Job

__all__ = ["StreamExecutionEnvironment"]

_SAVEPOINT = "execution.savepoint.path"
_NAME = "flinkish program"


class StreamExecutionEnvironment(Configured):
    """The place of a program: its sources, its settings, and the jobs that it starts.

    `get_execution_environment` makes one.  A job runs in the active Spark session; without one it
    starts a local session, or what the ``spark.*`` keys of the configuration say.

    In STREAMING mode, the default, a program whose sources are all bounded is one pass over their
    rows: operators see them in order of arrival, at the end the watermark is the highest.  With an
    unbounded source it is one Structured Streaming query, with state in its checkpoint.  In BATCH
    mode operators sort their rows, and functions see each key's at a time.

    Threading: one thread builds programs; jobs run in threads of their own.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration or Configuration())
        self._graph = Graph()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """A new environment; nothing of Spark is started yet."""
        return StreamExecutionEnvironment(configuration)

    # --- sources

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """The elements of a list, of a type if one is given."""
        if isinstance(collection, (str, bytes)) or not isinstance(collection, Iterable):
            raise ArgumentTypeError(f"from_collection takes a list, not {collection!r}")
        values = tuple(collection)

        def source() -> Input:
            from flinkish.spark.jobs.inputs import CollectionInput

            return CollectionInput(values, type_info)

        return self._source("Collection", source, type_info)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The elements of a Source, with event time.

        That is what the strategy's timestamp assigner says, else the time that the source itself
        knows, as Kafka of its records.  Elements of other sources have none then.
        """
        if not isinstance(source, Source):
            raise ArgumentTypeError(
                f"from_source takes a Source, such as a NumberSequenceSource, not {source!r}"
            )
        stream = self._source(source_name, source.input, source.get_produced_type())
        if watermark_strategy.timestamp_assigner is None and not source.knows_times:
            return stream
        return stream.assign_timestamps_and_watermarks(watermark_strategy)

    def add_source(
        self,
        source_func: Any,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """The elements of a FlinkKafkaConsumer, or of a SourceFunction; unbounded.

        The SourceFunction must be a CheckpointedFunction, too.
        """
        from flinkish.functions.source import SourceFunction

        if isinstance(source_func, FlinkKafkaConsumer):
            strategy = source_func.watermark_strategy or WatermarkStrategy.no_watermarks()
            return self.from_source(source_func, strategy, source_name, type_info)

        if not isinstance(source_func, SourceFunction):
            raise ArgumentTypeError(f"add_source takes a SourceFunction, not {source_func!r}")
        name = f"flinkish-source-{secrets.token_hex(4)}"

        def source() -> Input:
            from flinkish.spark.jobs.inputs import FunctionInput

            return FunctionInput(source_func, type_info, name)

        return self._source(source_name, source, type_info)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """The lines of a text file, or of all files of a directory; bounded.

        Bytes that the charset cannot decode become U+FFFD.  IllegalArgumentError for a charset that
        Python does not know.
        """
        reading = StreamFormat.text_line_format(charset_name).reading

        def source() -> Input:
            from flinkish.spark.jobs.inputs import BoundedFormatInput

            return BoundedFormatInput(
                reading.format,
                reading.options,
                (),
                reading.kind,
                paths=(file_path,),
                records=reading.records,
            )

        return self._source("Text", source, reading.kind)

    def create_input(
        self, input_format: InputFormat, type_info: TypeInformation | None = None
    ) -> DataStream:
        """The elements of an InputFormat, such as an AvroInputFormat; bounded."""
        if not isinstance(input_format, InputFormat):
            raise ArgumentTypeError(
                "create_input takes an InputFormat, such as AvroInputFormat(path, schema), not "
                f"{input_format!r}"
            )
        kind = type_info or input_format.get_produced_type()
        return self._source("Custom Source", input_format.input, kind)

    def _source(
        self, name: str, source: Callable[[], Input], kind: TypeInformation | None
    ) -> DataStream:
        node = self._graph.add(name, "source", kind=kind, source=source)
        return DataStream(self, node)

    def _stream(self, name: str, inputs: Sequence[Node], **given: Any) -> DataStream:
        return DataStream(self, self._graph.add(name, "operator", inputs, **given))

    # --- jobs

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program up to its end.

        Raises:
            JobExecutionError: a function raised; the message has its lines.
            IllegalStateError: there is nothing to run.
        """
        return self.execute_async(job_name).get_job_execution_result().result()

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the program, and return what watches and ends it."""
        job = self._job(self._graph.take(), job_name)
        job.start()
        return JobClient(JobID.generate(), job)

    def get_execution_plan(self) -> str:
        """The operators of the program that `execute` would run, as JSON in Flink's form."""
        return json.dumps({"nodes": self._graph.plan(self.get_parallelism())}, indent=2)

    def close(self) -> None:
        """Forget the program; jobs go on, and so does the Spark session."""
        self._graph.take()

    def _job(self, nodes: Sequence[Node], name: str | None) -> Job:
        from flinkish.spark.jobs.job import BoundedJob, StreamingJob
        from flinkish.spark.passes import Pass

        parameters = self._config.get_global_job_parameters()
        execution = Execution(nodes, self._options(), parameters, self._given_tasks())
        inputs = [node.source() for node in execution.sources if node.source is not None]
        named = zip(inputs, execution.sources, strict=True)
        unbounded = [node.name for one, node in named if not one.bounded]
        mode = self._mode
        if mode is RuntimeExecutionMode.AUTOMATIC:
            streams = RuntimeExecutionMode.STREAMING
            mode = streams if unbounded else RuntimeExecutionMode.BATCH
        if mode is RuntimeExecutionMode.BATCH and unbounded:
            raise IllegalStateError(
                f"the source {unbounded[0]!r} is unbounded, and the mode is BATCH: set "
                "RuntimeExecutionMode.STREAMING or AUTOMATIC"
            )
        title = name or _NAME
        spark = self._session(title)
        tasks = self._tasks()
        if unbounded:
            interval = max(0, self._checkpoints.get_checkpoint_interval())
            return StreamingJob(
                spark, title, inputs, execution, parameters, tasks, self._checkpoint(), interval
            )
        within = None
        if mode is RuntimeExecutionMode.STREAMING:
            now = time.time_ns() // 1_000_000
            within = Pass(tasks, bounded=True, token=secrets.token_hex(8), defined_ms=now)
        return BoundedJob(spark, title, inputs, execution, parameters, within)

    def _session(self, title: str = _NAME) -> Any:
        """The session of jobs, started if there is none."""
        from flinkish.spark.jobs.session import session_for

        settings = self._configuration.to_dict().items()
        spark_settings = {key: str(value) for key, value in settings if key.startswith("spark.")}
        spark = session_for(spark_settings, title)
        for prepare in self._prepared:
            prepare(spark)
        return spark

    def _tasks(self) -> int:
        """How many tasks an operator has."""
        from flinkish.spark.jobs.session import session_for, tasks_of

        return self._given_tasks() or tasks_of(session_for({}, _NAME))

    def _given_tasks(self) -> int | None:
        """The same, if the program says it."""
        given = self._config.get_parallelism()
        return given if given > 0 else None

    def _options(self) -> dict[str, Any]:
        groups = self._config.get_max_parallelism()
        return {"max_parallelism": groups} if groups > 0 else {}

    def _checkpoint(self) -> str | None:
        """The place of the next job's checkpoint.

        That of a savepoint if one is to be gone on from, else a new directory in the storage.
        """
        savepoint: str | None = self._configuration.to_dict().get(_SAVEPOINT)
        if savepoint is not None:
            self._configuration.remove_config(_SAVEPOINT)
            return savepoint
        storage = self._checkpoints.get_checkpoint_storage()
        if storage is None:
            return None
        return f"{storage.rstrip('/')}/{secrets.token_hex(8)}"

    def _collect(self, node: Node, name: str | None, limit: int | None) -> Any:
        """Run the program and give the elements of a node."""
        if limit is not None and limit < 1:
            raise IllegalArgumentError(f"limit must be 1 or more, not {limit}")
        queue: SimpleQueue[Any] = SimpleQueue()
        self._graph.add("Collect", "sink", (node,), act=collect_sink(queue.put), alone=True)
        job = self._job(self._graph.take(), name)
        job.start()
        found = elements_of(job, queue)
        if limit is None:
            return found
        with found:
            return [value for _, value in zip(range(limit), found, strict=False)]
