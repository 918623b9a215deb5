"""Names that can be imported from PyFlink's modules because these import them themselves.

``from pyflink.datastream.functions import KEY, OUT`` works in PyFlink because that module uses both
names.  `pyflink_name` finds such a name for a module that lacks it, and refuses names that belong
to the machinery between PyFlink and Java.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["has_pyflink_name", "pyflink_name", "pyflink_names"]

# For each module, the names that PyFlink's module of that name imports.
_SEEN = {
    "flinkish.common": (
        "AvroRowDeserializationSchema AvroRowSerializationSchema CsvRowDeserializationSchema "
        "CsvRowSerializationSchema JsonRowDeserializationSchema JsonRowSerializationSchema"
    ),
    "flinkish.common.config_options": "T",
    "flinkish.common.job_client": "CompletableFuture JobExecutionResult JobID JobStatus",
    "flinkish.common.job_execution_result": "JobID",
    "flinkish.common.serializer": "T",
    "flinkish.common.watermark_strategy": "Duration",
    "flinkish.datastream.async_data_stream": (
        "AsyncFunction AsyncRetryStrategy DataStream Time TypeInformation"
    ),
    "flinkish.datastream.async_retry_strategies": ("AsyncRetryPredicate AsyncRetryStrategy OUT"),
    "flinkish.datastream.checkpoint_config": (
        "CheckpointingMode Duration ExternalizedCheckpointRetention"
    ),
    "flinkish.datastream.connectors.cassandra": "Duration",
    "flinkish.datastream.connectors.dynamic_kafka": (
        "DeserializationSchema KafkaOffsetsInitializer Source"
    ),
    "flinkish.datastream.connectors.elasticsearch": "DeliveryGuarantee Sink",
    "flinkish.datastream.connectors.file_system": (
        "BulkWriterFactory Duration Encoder RowDataBulkWriterFactory Sink SinkFunction Source "
        "StreamTransformer SupportsPreprocessing"
    ),
    "flinkish.datastream.connectors.hybrid_source": "Source",
    "flinkish.datastream.connectors.jdbc": "RowTypeInfo SinkFunction",
    "flinkish.datastream.connectors.kafka": (
        "DeliveryGuarantee DeserializationSchema Row SerializationSchema Sink SinkFunction "
        "Source SourceFunction StreamTransformer SupportsPreprocessing TypeInformation Types"
    ),
    "flinkish.datastream.connectors.kinesis": (
        "DeserializationSchema SerializationSchema Sink SourceFunction"
    ),
    "flinkish.datastream.connectors.number_seq": "Source",
    "flinkish.datastream.connectors.pulsar": (
        "ConfigOption ConfigOptions DeliveryGuarantee DeserializationSchema Duration "
        "SerializationSchema Sink Source"
    ),
    "flinkish.datastream.connectors.rabbitmq": (
        "DeserializationSchema SerializationSchema SinkFunction SourceFunction"
    ),
    "flinkish.datastream.data_stream": (
        "AggregateFunction AggregatingStateDescriptor AllWindowFunction "
        "BroadcastProcessFunction CoFlatMapFunction CoMapFunction CoProcessFunction "
        "CountSlidingWindowAssigner CountTumblingWindowAssigner CountWindowSerializer "
        "ExecutionConfig FilterFunction FlatMapFunction Function GlobalWindowSerializer "
        "KeySelector KeyedBroadcastProcessFunction KeyedCoProcessFunction KeyedProcessFunction "
        "ListStateDescriptor MapFunction MapStateDescriptor MergingWindowAssigner OutputTag "
        "Partitioner ProcessAllWindowFunction ProcessFunction ProcessWindowFunction "
        "ReduceFunction ReducingState ReducingStateDescriptor Row RowTypeInfo RuntimeContext "
        "Sink SinkFunction SlotSharingGroup StateDescriptor TimeWindowSerializer "
        "TimestampAssigner Trigger TypeInformation Types WatermarkStrategy WindowAssigner "
        "WindowFunction"
    ),
    "flinkish.datastream.formats.avro": (
        "BulkWriterFactory DeserializationSchema InputFormat ResultTypeQueryable "
        "SerializationSchema TypeInformation"
    ),
    "flinkish.datastream.formats.csv": (
        "BulkWriterFactory DeserializationSchema RowDataBulkWriterFactory SerializationSchema "
        "StreamFormat TypeInformation"
    ),
    "flinkish.datastream.formats.json": "DeserializationSchema SerializationSchema TypeInformation",
    "flinkish.datastream.formats.orc": "BulkWriterFactory Configuration RowDataBulkWriterFactory",
    "flinkish.datastream.formats.parquet": (
        "AvroSchema BulkFormat BulkWriterFactory Configuration RowDataBulkWriterFactory "
        "StreamFormat"
    ),
    "flinkish.datastream.functions": (
        "AggregatingState AggregatingStateDescriptor BroadcastState IN IN1 IN2 KEY ListState "
        "ListStateDescriptor MapState MapStateDescriptor MetricGroup OUT ReadOnlyBroadcastState "
        "ReducingState ReducingStateDescriptor TimeDomain ValueState ValueStateDescriptor W W2"
    ),
    "flinkish.datastream.output_tag": "RowTypeInfo TypeInformation Types",
    "flinkish.datastream.state": "Duration IN K OUT T Time TypeInformation Types V",
    "flinkish.datastream.stream_execution_environment": (
        "CheckpointConfig CheckpointingMode Configuration DataStream ExecutionConfig "
        "InputFormat JobClient JobExecutionResult ResultTypeQueryable RuntimeExecutionMode "
        "SlotSharingGroup Source SourceFunction TypeInformation Types WatermarkStrategy"
    ),
    "flinkish.datastream.utils": (
        "BasicArrayTypeInfo Configuration ListTypeInfo MapTypeInfo ObjectArrayTypeInfo "
        "PrimitiveArrayTypeInfo Row RowKind RowTypeInfo TupleTypeInfo TypeInformation Types"
    ),
    "flinkish.datastream.window": (
        "IN KEY MetricGroup OUT OutputTag ReduceFunction ReducingState ReducingStateDescriptor "
        "RuntimeContext State StateDescriptor T Time Types ValueStateDescriptor W W2"
    ),
}

# For each of these names, the module of flinkish that has it.
_HOMES = {
    "flinkish.common.completable_future": "CompletableFuture",
    "flinkish.common.config_options": "ConfigOption ConfigOptions",
    "flinkish.common.configuration": "Configuration",
    "flinkish.common.execution_config": "ExecutionConfig",
    "flinkish.common.io": "InputFormat",
    "flinkish.common.job_client": "JobClient",
    "flinkish.common.job_execution_result": "JobExecutionResult",
    "flinkish.common.job_id": "JobID",
    "flinkish.common.job_status": "JobStatus",
    "flinkish.common.serialization": (
        "BulkWriterFactory DeserializationSchema Encoder RowDataBulkWriterFactory "
        "SerializationSchema"
    ),
    "flinkish.common.time": "Duration Time",
    "flinkish.common.type_variables": "IN IN1 IN2 K KEY OUT T V W W2",
    "flinkish.common.typeinfo": (
        "BasicArrayTypeInfo ListTypeInfo MapTypeInfo ObjectArrayTypeInfo PrimitiveArrayTypeInfo "
        "RowTypeInfo TupleTypeInfo TypeInformation Types"
    ),
    "flinkish.common.types": "Row RowKind",
    "flinkish.common.watermark_strategy": "TimestampAssigner WatermarkStrategy",
    "flinkish.datastream.checkpoint_config": "CheckpointConfig",
    "flinkish.datastream.checkpointing_mode": "CheckpointingMode",
    "flinkish.datastream.connectors.base": (
        "DeliveryGuarantee Sink Source StreamTransformer SupportsPreprocessing"
    ),
    "flinkish.datastream.connectors.file_system": "BulkFormat StreamFormat",
    "flinkish.datastream.connectors.kafka": "KafkaOffsetsInitializer",
    "flinkish.datastream.data_stream": "DataStream",
    "flinkish.datastream.execution_mode": "RuntimeExecutionMode",
    "flinkish.datastream.externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "flinkish.datastream.formats.avro": (
        "AvroRowDeserializationSchema AvroRowSerializationSchema AvroSchema"
    ),
    "flinkish.datastream.formats.csv": "CsvRowDeserializationSchema CsvRowSerializationSchema",
    "flinkish.datastream.formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    "flinkish.datastream.functions": (
        "AggregateFunction AllWindowFunction AsyncFunction AsyncRetryPredicate "
        "AsyncRetryStrategy BroadcastProcessFunction CoFlatMapFunction CoMapFunction "
        "CoProcessFunction FilterFunction FlatMapFunction Function KeySelector "
        "KeyedBroadcastProcessFunction KeyedCoProcessFunction KeyedProcessFunction MapFunction "
        "Partitioner ProcessAllWindowFunction ProcessFunction ProcessWindowFunction "
        "ReduceFunction RuntimeContext SinkFunction SourceFunction WindowFunction"
    ),
    "flinkish.datastream.output_tag": "OutputTag",
    "flinkish.datastream.slot_sharing_group": "SlotSharingGroup",
    "flinkish.datastream.state": (
        "AggregatingState AggregatingStateDescriptor BroadcastState ListState "
        "ListStateDescriptor MapState MapStateDescriptor ReadOnlyBroadcastState ReducingState "
        "ReducingStateDescriptor State StateDescriptor ValueState ValueStateDescriptor"
    ),
    "flinkish.datastream.time_domain": "TimeDomain",
    "flinkish.datastream.utils": "ResultTypeQueryable",
    "flinkish.datastream.window": (
        "CountSlidingWindowAssigner CountTumblingWindowAssigner CountWindowSerializer "
        "GlobalWindowSerializer MergingWindowAssigner TimeWindowSerializer Trigger "
        "WindowAssigner"
    ),
    "flinkish.metrics.metricbase": "MetricGroup",
}

# Names of PyFlink's machinery around its Java classes.
_INTERNAL = (
    "AssignerWithPeriodicWatermarksWrapper AsyncFunctionDescriptor CachedDataStream "
    "DefaultRollingPolicy ElasticsearchSinkBuilderBase ExternalTypeInfo FlinkKafkaConsumerBase "
    "FlinkKafkaProducerBase FunctionWrapper InternalIterableAllWindowFunction "
    "InternalIterableProcessAllWindowFunction InternalIterableProcessWindowFunction "
    "InternalIterableWindowFunction InternalProcessAllWindowContext "
    "InternalProcessWindowContext InternalSingleValueAllWindowFunction "
    "InternalSingleValueProcessAllWindowFunction InternalSingleValueProcessWindowFunction "
    "InternalSingleValueWindowFunction InternalWindowFunction JavaFunctionWrapper "
    "JavaObjectWrapper LocalTimeTypeInfo Min NullByteKeySelector OnCheckpointRollingPolicy "
    "OperatorStateStore PassThroughAllWindowFunction PassThroughWindowFunction PickleSerializer "
    "ReduceFunctionWrapper SqlTimeTypeInfo StreamTransformer SupportsPreprocessing "
    "VoidNamespaceSerializer WINDOW_STATE_NAME WindowOperationDescriptor convert_to_python_obj "
    "create_hadoop_configuration create_java_properties long_to_int_with_bit_mixing mod_inverse "
    "pickled_bytes_to_python_obj void"
)

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_INTERNAL_NAMES = frozenset(_INTERNAL.split())
_SEEN_IN = {module: frozenset(names.split()) for module, names in _SEEN.items()}


def has_pyflink_name(module: str, name: str) -> bool:
    """Whether `pyflink_name` has an answer for a name that a module lacks."""
    return name in _SEEN_IN.get(module, ()) or name in _INTERNAL_NAMES


def pyflink_name(module: str, name: str) -> Any:
    """The object that PyFlink's module of this name has under ``name``.

    Raises:
        AttributeError: PyFlink's module has no such name either.
        ImportError: the name belongs to the machinery between PyFlink and Java.
    """
    if name in _SEEN_IN.get(module, ()):
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _INTERNAL_NAMES:
        raise ImportError(
            f"{name} is not in flinkish: it belongs to the machinery with which PyFlink calls "
            "Flink's Java classes, and flinkish runs on Spark without them",
            name=module,
        )
    raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)


def pyflink_names(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` (PEP 562) of a module whose counterpart in PyFlink has more names."""

    def __getattr__(name: str) -> Any:
        return pyflink_name(module, name)

    return __getattr__
