"""PyFlink's module of Cassandra, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "CassandraSink ConsistencyLevel MapperOptions ClusterBuilder CassandraCommitter "
    "CassandraFailureHandler",
    "Spark has no Cassandra of its own: write a SinkFunction with a Python client, or take "
    "flinkish.spark.DataStream and the spark-cassandra-connector",
)

__all__: list[str] = []
