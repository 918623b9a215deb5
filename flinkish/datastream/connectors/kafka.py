"""PyFlink's module of sources and sinks of Kafka."""

from flinkish.common.lazy import refused_names
from flinkish.environment.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from flinkish.environment.connectors.kafka_sinks import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)

__getattr__ = refused_names(
    __name__,
    "FlinkKafkaConsumer FlinkKafkaProducer Semantic",
    "Flink 2 has no Java classes for it any more: take KafkaSource and KafkaSink",
)

__all__ = [
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
]
