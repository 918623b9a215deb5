"""Programs as PyFlink writes them: an environment, streams, and jobs that run on Spark.

Owns: the graph of a program, PyFlink's streams and environment, and the run of a graph.
Uses: ``spark``, when a program is executed.
Must not: load pyspark before that.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.environment.async_data_stream import AsyncDataStream
    from flinkish.environment.collected import CloseableIterator
    from flinkish.environment.connected import (
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
    )
    from flinkish.environment.connectors.avro import (
        AvroBulkWriters,
        AvroInputFormat,
        AvroParquetReaders,
        AvroParquetWriters,
        AvroRowDeserializationSchema,
        AvroRowSerializationSchema,
    )
    from flinkish.environment.connectors.base import DeliveryGuarantee, Sink, Source
    from flinkish.environment.connectors.columnar import (
        OrcBulkWriters,
        ParquetBulkWriters,
        ParquetColumnarRowInputFormat,
    )
    from flinkish.environment.connectors.csv_files import CsvBulkWriters, CsvReaderFormat, CsvSchema
    from flinkish.environment.connectors.file_sinks import FileSink
    from flinkish.environment.connectors.files import FileSource
    from flinkish.environment.connectors.formats import (
        CsvRowDeserializationSchema,
        CsvRowSerializationSchema,
        JsonRowDeserializationSchema,
        JsonRowSerializationSchema,
    )
    from flinkish.environment.connectors.jdbc import (
        JdbcConnectionOptions,
        JdbcExecutionOptions,
        JdbcSink,
    )
    from flinkish.environment.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
    from flinkish.environment.connectors.kafka_sinks import (
        KafkaRecordSerializationSchema,
        KafkaSink,
    )
    from flinkish.environment.connectors.numbers import NumberSequenceSource
    from flinkish.environment.environment import StreamExecutionEnvironment
    from flinkish.environment.keyed import KeyedStream
    from flinkish.environment.settings import (
        CheckpointConfig,
        CheckpointingMode,
        ExternalizedCheckpointRetention,
        RuntimeExecutionMode,
    )
    from flinkish.environment.sinks import DataStreamSink
    from flinkish.environment.streams import DataStream
    from flinkish.environment.windowed import AllWindowedStream, WindowedStream
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.environment.async_data_stream": ("AsyncDataStream",),
            "flinkish.environment.collected": ("CloseableIterator",),
            "flinkish.environment.connected": (
                "BroadcastConnectedStream",
                "BroadcastStream",
                "ConnectedStreams",
            ),
            "flinkish.environment.connectors.base": (
                "DeliveryGuarantee",
                "Sink",
                "Source",
            ),
            "flinkish.environment.connectors.avro": (
                "AvroBulkWriters",
                "AvroInputFormat",
                "AvroParquetReaders",
                "AvroParquetWriters",
                "AvroRowDeserializationSchema",
                "AvroRowSerializationSchema",
            ),
            "flinkish.environment.connectors.columnar": (
                "OrcBulkWriters",
                "ParquetBulkWriters",
                "ParquetColumnarRowInputFormat",
            ),
            "flinkish.environment.connectors.csv_files": (
                "CsvBulkWriters",
                "CsvReaderFormat",
                "CsvSchema",
            ),
            "flinkish.environment.connectors.jdbc": (
                "JdbcConnectionOptions",
                "JdbcExecutionOptions",
                "JdbcSink",
            ),
            "flinkish.environment.connectors.file_sinks": ("FileSink",),
            "flinkish.environment.connectors.files": ("FileSource",),
            "flinkish.environment.connectors.formats": (
                "CsvRowDeserializationSchema",
                "CsvRowSerializationSchema",
                "JsonRowDeserializationSchema",
                "JsonRowSerializationSchema",
            ),
            "flinkish.environment.connectors.kafka": (
                "KafkaOffsetsInitializer",
                "KafkaSource",
            ),
            "flinkish.environment.connectors.kafka_sinks": (
                "KafkaRecordSerializationSchema",
                "KafkaSink",
            ),
            "flinkish.environment.connectors.numbers": ("NumberSequenceSource",),
            "flinkish.environment.environment": ("StreamExecutionEnvironment",),
            "flinkish.environment.keyed": ("KeyedStream",),
            "flinkish.environment.settings": (
                "CheckpointConfig",
                "CheckpointingMode",
                "ExternalizedCheckpointRetention",
                "RuntimeExecutionMode",
            ),
            "flinkish.environment.sinks": ("DataStreamSink",),
            "flinkish.environment.streams": ("DataStream",),
            "flinkish.environment.windowed": (
                "AllWindowedStream",
                "WindowedStream",
            ),
        },
    )

__all__ = [
    "AllWindowedStream",
    "AsyncDataStream",
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroParquetReaders",
    "AvroParquetWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointingMode",
    "CloseableIterator",
    "ConnectedStreams",
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "DataStream",
    "DataStreamSink",
    "DeliveryGuarantee",
    "ExternalizedCheckpointRetention",
    "FileSink",
    "FileSource",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaSink",
    "KafkaSource",
    "KeyedStream",
    "NumberSequenceSource",
    "OrcBulkWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "RuntimeExecutionMode",
    "Sink",
    "Source",
    "StreamExecutionEnvironment",
    "WindowedStream",
]
