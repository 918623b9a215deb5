"""PyFlink's module of changing clusters of Kafka, whose names are refused with a way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "DynamicKafkaSource DynamicKafkaSourceBuilder KafkaMetadataService "
    "KafkaRecordDeserializationSchema KafkaStreamSetSubscriber KafkaStreamSubscriber "
    "StreamPatternSubscriber SingleClusterTopicMetadataService",
    "Spark's Kafka reads the brokers that it is given: take a KafkaSource for each cluster",
)

__all__: list[str] = []
