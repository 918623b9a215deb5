"""PyFlink's modules of connectors, and the names that it has in their package, too."""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.datastream.connectors.base import DeliveryGuarantee, Sink, Source
    from flinkish.datastream.connectors.file_system import (
        BucketAssigner,
        FileEnumeratorProvider,
        FileSink,
        FileSource,
        FileSourceBuilder,
        FileSplitAssignerProvider,
        OutputFileConfig,
        RollingPolicy,
        StreamFormat,
    )
    from flinkish.datastream.connectors.jdbc import (
        JdbcConnectionOptions,
        JdbcExecutionOptions,
        JdbcSink,
    )
    from flinkish.datastream.connectors.kafka import (
        FlinkKafkaConsumer,
        FlinkKafkaProducer,
        KafkaSource,
        Semantic,
    )
    from flinkish.datastream.connectors.number_seq import NumberSequenceSource
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.datastream.connectors.base": (
                "DeliveryGuarantee",
                "Sink",
                "Source",
            ),
            "flinkish.datastream.connectors.number_seq": ("NumberSequenceSource",),
            "flinkish.datastream.connectors.jdbc": (
                "JdbcSink",
                "JdbcConnectionOptions",
                "JdbcExecutionOptions",
            ),
            "flinkish.datastream.connectors.kafka": (
                "FlinkKafkaConsumer",
                "FlinkKafkaProducer",
                "KafkaSource",
                "Semantic",
            ),
            "flinkish.datastream.connectors.file_system": (
                "BucketAssigner",
                "FileEnumeratorProvider",
                "FileSink",
                "FileSplitAssignerProvider",
                "FileSource",
                "FileSourceBuilder",
                "OutputFileConfig",
                "RollingPolicy",
                "StreamFormat",
            ),
        },
        refused={
            "flinkish.datastream.connectors.dynamic_kafka": (
                "DynamicKafkaSource DynamicKafkaSourceBuilder KafkaMetadataService "
                "KafkaRecordDeserializationSchema KafkaStreamSetSubscriber "
                "KafkaStreamSubscriber StreamPatternSubscriber "
                "SingleClusterTopicMetadataService"
            ),
            "flinkish.datastream.connectors.pulsar": (
                "PulsarSource PulsarSourceBuilder StartCursor StopCursor"
            ),
            "flinkish.datastream.connectors.rabbitmq": "RMQSource RMQSink RMQConnectionConfig",
            "flinkish.datastream.connectors.file_system": "StreamingFileSink",
        },
    )

__all__ = [
    "BucketAssigner",
    "DeliveryGuarantee",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "KafkaSource",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RollingPolicy",
    "Semantic",
    "Sink",
    "Source",
    "StreamFormat",
]
