"""PyFlink's streams: each call adds to the graph of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.execution_config import ExecutionConfig
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from flinkish.common.watermark_strategy import WatermarkStrategy
from flinkish.environment.checks import check_function, check_type, check_unkeyed
from flinkish.environment.collected import CloseableIterator
from flinkish.environment.nodes import Node
from flinkish.environment.outputs import TaggedOutputs
from flinkish.environment.settled import Settled
from flinkish.environment.sinks import DataStreamSink, function_sink, print_sink
from flinkish.state.descriptors import MapStateDescriptor
from flinkish.windowing import WindowAssigner

if TYPE_CHECKING:
    from flinkish.environment.connected import (
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
    )
    from flinkish.environment.environment import StreamExecutionEnvironment
    from flinkish.environment.keyed import KeyedStream
    from flinkish.environment.windowed import WindowedStream

__all__ = ["COPIES", "DataStream"]

# Shipping that sends a copy of each element to each task of the next operator.
COPIES = "BROADCAST"


class DataStream(Settled):
    """A stream of a program: what an operator makes of others.

    Nothing runs before `StreamExecutionEnvironment.execute`, or `execute_and_collect`.
    """

    def __init__(self, environment: StreamExecutionEnvironment, node: Node) -> None:
        super().__init__(node)
        self._environment = environment

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the program is of."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """The environment's settings of execution."""
        return self._environment.get_config()

    def get_type(self) -> TypeInformation:
        """The declared type of the elements; that of pickled objects if none was declared."""
        return self._node.kind or Types.PICKLED_BYTE_ARRAY()

    # --- functions

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """One element for each, by a MapFunction or a function of one value."""
        return self._each("Map", "map", func, output_type)

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of elements for each, by a FlatMapFunction or a generator of one value."""
        return self._each("Flat Map", "flat_map", func, output_type)

    def filter(self, func: Any) -> DataStream:
        """The elements for which a FilterFunction, or a function of one value, gives True."""
        check_function(func, "filter")

        def build(stream: Any) -> Any:
            return stream.filter(func)

        return self._after("Filter", build, self._node.kind)

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of elements for each, by a ProcessFunction, which knows the element's time.

        It sees no watermark: `current_watermark()` is the lowest.
        """

        def tagged(stream: Any) -> Any:
            return stream.process(TaggedOutputs(func))

        made = self._each("Process", "process", func, output_type)
        made._node.tagged = tagged
        return made

    def _each(
        self, name: str, method: str, func: Any, output_type: TypeInformation | None
    ) -> DataStream:
        check_function(func, method)
        check_unkeyed(func, method)
        check_type(output_type)

        def build(stream: Any) -> Any:
            return getattr(stream, method)(func, output_type)

        return self._after(name, build, output_type)

    def _after(
        self, name: str, build: Callable[..., Any], kind: TypeInformation | None, *others: Node
    ) -> DataStream:
        """The stream of a new operator on this stream and on others."""
        return self._environment._stream(name, (self._node, *others), build=build, kind=kind)

    def project(self, *field_indexes: int) -> DataStream:
        """The fields at these positions of tuples or Rows, as tuples.

        Raises:
            IllegalArgumentError: no position, or one that the elements do not have.
            ArgumentTypeError: the elements are of no declared tuple or row type.
        """
        kind = self._node.kind
        if not isinstance(kind, (TupleTypeInfo, RowTypeInfo)):
            raise ArgumentTypeError(
                f"project takes fields of tuples, and these elements are of the type {kind}: "
                "declare one where they are made, with output_type=Types.TUPLE([...])"
            )
        fields = kind.get_field_types()
        wrong = [index for index in field_indexes if not 0 <= index < len(fields)]
        if wrong or not field_indexes:
            raise IllegalArgumentError(
                f"project takes positions from 0 to {len(fields) - 1}, not {wrong or 'none'}"
            )
        chosen = Types.TUPLE([fields[index] for index in field_indexes])
        found = self.map(lambda value: tuple(value[index] for index in field_indexes), chosen)
        return found.name("Projection")

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """The stream with event time, by the strategy's timestamp assigner.

        Without one elements keep the timestamps that they have, such as those of Kafka's records;
        the job fails with IllegalArgumentError if they have none.
        """

        def build(stream: Any) -> Any:
            return stream.assign_timestamps_and_watermarks(watermark_strategy)

        return self._after("Timestamps", build, self._node.kind)

    # --- several streams

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        """The stream partitioned by key: what a function or a KeySelector says of each element."""
        from flinkish.environment.keyed import KeyedStream

        return KeyedStream(self._environment, self._node, key_selector, key_type)

    def union(self, *streams: DataStream) -> DataStream:
        """The elements of this stream and of others of the same type, in any order."""
        for one in streams:
            if not isinstance(one, DataStream):
                raise ArgumentTypeError(f"union takes streams of this program, not {one!r}")

        def build(first: Any, *others: Any) -> Any:
            return first.union(*others)

        nodes = [one._node for one in streams]
        if not nodes:
            return self
        found = self._after("Union", build, self._node.kind, *nodes)
        found._node.ships = "UNION"
        return found

    def connect(self, ds: Any) -> Any:
        """This stream and another one for one function: `ConnectedStreams`.

        With one that was `broadcast`, a `BroadcastConnectedStream`.
        """
        from flinkish.environment.connected import connected

        found: ConnectedStreams | BroadcastConnectedStream = connected(self, ds)
        return found

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> Any:
        """The stream for every task of the one that `connect` is then called on.

        Without a descriptor it is a stream with a copy of each element for each task of the
        operator that follows, as in Flink.
        """
        from flinkish.environment.connected import BroadcastStream

        if broadcast_state_descriptor is None:

            def copied(this: Any, stream: Any, tasks: int) -> Any:
                return this.copied(stream, tasks)

            return self._parted("Broadcast", copied, COPIES)
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        found: BroadcastStream = BroadcastStream(self, descriptors)
        return found

    def window_all(self, window_assigner: WindowAssigner) -> WindowedStream:
        """All elements in windows, without keys: one task does the work."""
        from flinkish.environment.windowed import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The stream of a side output of the function that made this stream."""
        if not isinstance(output_tag, OutputTag):
            raise ArgumentTypeError(f"a side output is named by its OutputTag, not {output_tag!r}")
        node = self._node
        if node.tagged is None and not node.keyed:
            raise IllegalArgumentError(
                f"{node.name} has no side outputs: ask the stream that process or a window returned"
            )
        node.tags.append(output_tag)
        made = self._environment._graph.add(
            f"Side Output {output_tag.tag_id}",
            "side output",
            (node,),
            kind=output_tag.type_info,
            tag=output_tag,
        )
        return DataStream(self._environment, made)

    # --- places, which Spark chooses itself

    def shuffle(self) -> DataStream:
        """The same elements: Spark spreads them."""
        return self._shipped("SHUFFLE")

    def rebalance(self) -> DataStream:
        """The same elements: Spark spreads them."""
        return self._shipped("REBALANCE")

    def rescale(self) -> DataStream:
        """The same elements: Spark spreads them."""
        return self._shipped("RESCALE")

    def forward(self) -> DataStream:
        """The same elements: functions that follow each other run in one task anyway."""
        return self._shipped("FORWARD")

    def _shipped(self, strategy: str) -> DataStream:
        """A stream of the same elements; plans show how Flink would ship them."""

        def build(stream: Any) -> Any:
            return stream

        found = self._after(strategy.title(), build, self._node.kind)
        found._node.ships = strategy
        return found

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        """The elements, each in the task that a Partitioner gives it to.

        It is called with the key and the number of tasks, and returns the number of one; anything
        else fails the job.  The tasks are those of the operator that follows.  Functions without
        keys, and sinks, see all elements of a partition in one task, where those of one task before
        it stay in order; an operator with keys has its own tasks.

        ArgumentTypeError for what is no Partitioner or function of a key and a number, or no key
        selector.
        """
        for given, method in ((partitioner, "partition"), (key_selector, "get_key")):
            if not (callable(given) or hasattr(given, method)):
                raise ArgumentTypeError(
                    f"partition_custom takes a Partitioner and a key selector, not {given!r}"
                )

        def build(this: Any, stream: Any, tasks: int) -> Any:
            return stream.partition_custom(partitioner, key_selector, tasks)

        return self._parted("Partition Custom", build, "CUSTOM")

    def _parted(self, name: str, deal: Callable[..., Any], ships: str) -> DataStream:
        """A stream whose elements are dealt to the tasks of the operator that follows."""
        environment, node = self._environment, self._node

        def build(this: Any, stream: Any, tasks: int | None) -> Any:
            return deal(this, stream, tasks or environment._tasks())

        made = environment._graph.add(
            name, "partition", (node,), kind=node.kind, build=build, ships=ships
        )
        return DataStream(environment, made)

    def cache(self) -> DataStream:
        """The stream itself: what several operators read is made once anyway."""
        return self

    # --- ends

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print each element, with the number of its task if there are several."""
        environment, made = self._environment, self._sink("Print", None)

        def tasks() -> int:
            return made._node.parallelism or environment._tasks()

        made._node.act = print_sink(sink_identifier, self._node.kind, tasks)
        return made

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Hand each element to a SinkFunction, on the workers, or to a JdbcSink."""
        from flinkish.environment.connectors.base import Sink

        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        return self._sink(type(sink_func).__name__, function_sink(sink_func))

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Write the elements to a Sink, such as a FileSink or a KafkaSink."""
        from flinkish.environment.connectors.base import Sink

        if not isinstance(sink, Sink):
            raise ArgumentTypeError(
                f"sink_to takes a Sink, such as FileSink.for_row_format(...).build(), not {sink!r}"
            )
        return self._sink(type(sink).__name__, sink.writer(self._node.kind))

    def _sink(self, name: str, act: Any) -> DataStreamSink:
        node = self._environment._graph.add(name, "sink", (self._node,), act=act)
        return DataStreamSink(node)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> Any:
        """Run the program; gives the elements of this stream as they come.

        A `CloseableIterator`, which ends the job if it is closed; with ``limit`` a list of so many
        elements at most.
        """
        found: CloseableIterator | list[Any]
        found = self._environment._collect(self._node, job_execution_name, limit)
        return found
