"""PyFlink's module of Kinesis, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "KinesisShardAssigner KinesisDeserializationSchema WatermarkTracker PartitionKeyGenerator "
    "FlinkKinesisConsumer KinesisStreamsSink KinesisStreamsSinkBuilder KinesisFirehoseSink "
    "KinesisFirehoseSinkBuilder",
    "Spark has no Kinesis for its streams: write a SourceFunction or a SinkFunction with a "
    "Python client, or take flinkish.spark.DataStream and a connector of AWS",
)

__all__: list[str] = []
