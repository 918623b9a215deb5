"""PyFlink's module of sources and sinks of Kafka."""

from flinkish.environment.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)

__all__ = [
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaSink",
    "KafkaSource",
    "KafkaTopicPartition",
]
