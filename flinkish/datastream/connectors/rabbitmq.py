"""PyFlink's module of RabbitMQ, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "RMQConnectionConfig RMQSource RMQSink",
    "Spark has no RabbitMQ: write a SourceFunction or a SinkFunction with a Python client",
)

__all__: list[str] = []
