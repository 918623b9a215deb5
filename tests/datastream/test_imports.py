"""Imports of PyFlink programs, with `pyflink.` swapped for `flinkish.`."""

import subprocess
import sys
from importlib import import_module

import pytest

import flinkish.datastream
from tests.processes import LONGEST_S

# Module of PyFlink to names that user functions import from it.
IMPORTS = {
    "common": (
        "CompletableFuture Configuration Encoder ExecutionConfig JobClient JobExecutionResult "
        "JobID JobStatus SimpleStringSchema Duration Instant Row RowKind Time TypeInformation "
        "Types WatermarkStrategy"
    ),
    "common.completable_future": "CompletableFuture",
    "common.configuration": "Configuration",
    "common.execution_config": "ExecutionConfig",
    "common.job_client": "JobClient",
    "common.job_execution_result": "JobExecutionResult",
    "common.job_id": "JobID",
    "common.job_status": "JobStatus",
    "common.io": "InputFormat",
    "common.serialization": (
        "BulkWriterFactory ByteArraySchema DeserializationSchema Encoder RowDataBulkWriterFactory "
        "RowFieldExtractorSchema SerializationSchema SimpleStringSchema"
    ),
    "common.time": "Duration Instant Time",
    "common.typeinfo": "TypeInformation Types RowTypeInfo TupleTypeInfo BasicTypeInfo",
    "common.types": "Row RowKind",
    "common.watermark_strategy": "TimestampAssigner WatermarkStrategy",
    "datastream": (
        "AllWindowFunction AsyncFunction AsyncRetryPredicate AsyncRetryStrategy "
        "ProcessAllWindowFunction ProcessWindowFunction WindowFunction "
        "AggregateFunction BroadcastProcessFunction CoFlatMapFunction CoMapFunction "
        "CoProcessFunction CountWindow FilterFunction FlatMapFunction GlobalWindow "
        "KeyedBroadcastProcessFunction MergingWindowAssigner SourceFunction TimeWindow Trigger "
        "TriggerResult Window WindowAssigner "
        "KeyedCoProcessFunction KeyedProcessFunction KeySelector MapFunction OutputTag "
        "ProcessFunction ReduceFunction RuntimeContext TimeDomain TimerService Partitioner "
        "StreamExecutionEnvironment DataStream KeyedStream ConnectedStreams WindowedStream "
        "BroadcastStream BroadcastConnectedStream DataStreamSink RuntimeExecutionMode "
        "CheckpointConfig CheckpointingMode ExternalizedCheckpointRetention SinkFunction "
        "AsyncDataStream"
    ),
    "datastream.checkpoint_config": "CheckpointConfig",
    "datastream.checkpointing_mode": "CheckpointingMode",
    "datastream.connectors": (
        "BucketAssigner DeliveryGuarantee FileEnumeratorProvider FileSink "
        "FileSplitAssignerProvider FileSource FileSourceBuilder JdbcConnectionOptions "
        "JdbcExecutionOptions JdbcSink KafkaSource NumberSequenceSource OutputFileConfig "
        "RollingPolicy Sink Source StreamFormat"
    ),
    "datastream.connectors.jdbc": "JdbcConnectionOptions JdbcExecutionOptions JdbcSink",
    "datastream.connectors.file_system": (
        "BucketAssigner BulkFormat FileCompactStrategy FileCompactor FileEnumeratorProvider "
        "FileSink FileSource FileSourceBuilder FileSplitAssignerProvider OutputFileConfig "
        "RollingPolicy StreamFormat"
    ),
    "datastream.connectors.kafka": (
        "KafkaOffsetResetStrategy KafkaOffsetsInitializer KafkaRecordSerializationSchema "
        "KafkaRecordSerializationSchemaBuilder KafkaSink KafkaSinkBuilder KafkaSource "
        "KafkaSourceBuilder KafkaTopicPartition KafkaTopicSelector"
    ),
    "datastream.connectors.number_seq": "NumberSequenceSource",
    "datastream.formats.avro": (
        "AvroBulkWriters AvroInputFormat AvroRowDeserializationSchema "
        "AvroRowSerializationSchema AvroSchema GenericRecordAvroTypeInfo"
    ),
    "datastream.formats.csv": (
        "CsvBulkWriters CsvReaderFormat CsvRowDeserializationSchema CsvRowSerializationSchema "
        "CsvSchema CsvSchemaBuilder"
    ),
    "datastream.formats.orc": "OrcBulkWriters",
    "datastream.formats.parquet": (
        "AvroParquetReaders AvroParquetWriters ParquetBulkWriters ParquetColumnarRowInputFormat"
    ),
    "datastream.formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    "datastream.data_stream": (
        "BroadcastConnectedStream BroadcastStream CloseableIterator ConnectedStreams DataStream "
        "DataStreamSink KeyedStream WindowedStream"
    ),
    "datastream.execution_mode": "RuntimeExecutionMode",
    "datastream.externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "datastream.stream_execution_environment": "StreamExecutionEnvironment",
    "datastream.async_data_stream": "AsyncDataStream",
    "datastream.async_retry_predicates": (
        "empty_result_predicate exception_type_predicate has_exception_predicate"
    ),
    "datastream.async_retry_strategies": (
        "ExponentialBackoffDelayRetryStrategy FixedDelayRetryStrategy NoRetryStrategy "
        "RetryPredicate"
    ),
    "datastream.functions": (
        "AllWindowFunction AsyncBatchFunction AsyncFunction AsyncRetryPredicate "
        "AsyncRetryStrategy ProcessAllWindowFunction ProcessWindowFunction WindowFunction "
        "AggregateFunction BaseBroadcastProcessFunction BroadcastProcessFunction "
        "CoFlatMapFunction CoMapFunction CoProcessFunction FilterFunction FlatMapFunction Function "
        "KeyedBroadcastProcessFunction "
        "KeyedCoProcessFunction KeyedProcessFunction KeyedStateStore KeySelector MapFunction "
        "Partitioner ProcessFunction ReduceFunction RuntimeContext SinkFunction SourceFunction "
        "TimerService"
    ),
    "datastream.output_tag": "OutputTag",
    "datastream.state": (
        "AggregatingState AggregatingStateDescriptor BroadcastState ListState "
        "ListStateDescriptor MapState MapStateDescriptor ReadOnlyBroadcastState ReducingState "
        "ReducingStateDescriptor StateTtlConfig ValueState "
        "ValueStateDescriptor"
    ),
    "datastream.time_domain": "TimeDomain",
    "datastream.timerservice": "TimerService",
    "datastream.window": (
        "ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger CountSlidingWindowAssigner "
        "CountTrigger CountTumblingWindowAssigner CountWindow CountWindowSerializer "
        "DynamicEventTimeSessionWindows DynamicProcessingTimeSessionWindows "
        "EventTimeSessionWindows EventTimeTrigger GlobalWindow GlobalWindowSerializer "
        "GlobalWindows MergingWindowAssigner NeverTrigger ProcessingTimeSessionWindows "
        "ProcessingTimeTrigger PurgingTrigger SessionWindowTimeGapExtractor "
        "SlidingEventTimeWindows SlidingProcessingTimeWindows TimeWindow TimeWindowSerializer "
        "Trigger TriggerResult TumblingEventTimeWindows TumblingProcessingTimeWindows Window "
        "WindowAssigner"
    ),
    "table": "DataTypes",
    "table.types": "DataType DataTypes NumericType RowField RowType",
    "metrics": "Counter Distribution Meter Metric MetricGroup",
    "metrics.metricbase": "Counter Distribution Meter Metric MetricGroup",
}
# Module of PyFlink to names that it has and this has not.
REFUSED = {
    "datastream.connectors": ("DynamicKafkaSource PulsarSource RMQSource StreamingFileSink"),
    "datastream.connectors.cassandra": "CassandraSink ClusterBuilder ConsistencyLevel",
    "datastream.connectors.dynamic_kafka": "DynamicKafkaSource KafkaMetadataService",
    "datastream.connectors.elasticsearch": "Elasticsearch7SinkBuilder ElasticsearchSink",
    "datastream.connectors.file_system": "StreamingFileSink",
    "datastream.connectors.hybrid_source": "HybridSource HybridSourceBuilder",
    "datastream.connectors.kinesis": "FlinkKinesisConsumer KinesisStreamsSink",
    "datastream.connectors.pulsar": "PulsarSink PulsarSource StartCursor StopCursor",
    "datastream.connectors.rabbitmq": "RMQConnectionConfig RMQSink RMQSource",
}
NAMES = [(module, name) for module, names in IMPORTS.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_is_where_pyflink_has_it(module: str, name: str) -> None:
    assert name in import_module(f"flinkish.{module}").__all__
    assert getattr(import_module(f"flinkish.{module}"), name)


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module, all_of in REFUSED.items() for name in all_of.split()],
)
def test_a_name_that_is_not_here_says_what_to_take(module: str, name: str) -> None:
    with pytest.raises(ImportError, match=f"{name} is not in flinkish: .*(take|write|unite) "):
        exec(f"from flinkish.{module} import {name}")
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec(f"from flinkish.{module} import Nothing")


def test_one_name_is_one_thing_everywhere() -> None:
    found: dict[str, set[int]] = {}
    for module, name in NAMES:
        found.setdefault(name, set()).add(id(getattr(import_module(f"flinkish.{module}"), name)))
    assert {name for name, objects in found.items() if len(objects) > 1} == set()


def test_functions_import_without_spark() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import flinkish.datastream, flinkish.datastream.functions, flinkish.datastream.state\n"
        "from flinkish.datastream import *\n"
        "assert not [name for name in sys.modules if name.startswith('flinkish.spark')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LONGEST_S)


def test_streams_are_listed_and_unknown_names_refused() -> None:
    assert {"BroadcastStream", "DataStream", "KeyedStream", "OutputTag"} <= set(
        dir(flinkish.datastream)
    )
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = flinkish.datastream.Nothing
