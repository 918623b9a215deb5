"""PyFlink's module of Pulsar, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "PulsarSource PulsarSourceBuilder StartCursor StopCursor RangeGenerator PulsarSink "
    "PulsarSinkBuilder MessageDelayer TopicRoutingMode",
    "Spark has no Pulsar of its own: write a SourceFunction or a SinkFunction with a Python "
    "client, or take flinkish.spark.DataStream and the pulsar-spark connector",
)

__all__: list[str] = []
