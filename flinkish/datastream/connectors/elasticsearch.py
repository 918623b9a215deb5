"""PyFlink's module of Elasticsearch, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "FlushBackoffType ElasticsearchEmitter Elasticsearch6SinkBuilder Elasticsearch7SinkBuilder "
    "ElasticsearchSink",
    "Spark has no Elasticsearch of its own: write a SinkFunction with a Python client, or take "
    "flinkish.spark.DataStream and elasticsearch-spark",
)

__all__: list[str] = []
