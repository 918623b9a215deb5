"""PyFlink's module of serializers, whose name is refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "ArrowSerializer",
    "rows travel by Spark's own serializers",
)

__all__: list[str] = []
