"""PyFlink's module of models, whose name is refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "ModelDescriptor",
    "Spark's SQL has no models: call yours in a function, udf(...) or flinkish.spark.async_map",
)

__all__: list[str] = []
