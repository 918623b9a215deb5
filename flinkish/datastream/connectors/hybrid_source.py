"""PyFlink's module of sources in a row, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "HybridSource HybridSourceBuilder",
    "Spark reads the bounded source in the first micro-batch, and beside the unbounded one: "
    "unite the streams of two from_source(...)",
)

__all__: list[str] = []
