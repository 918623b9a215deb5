"""PyFlink's module of resolved expressions, refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "ResolvedExpression",
    "Spark resolves expressions: take flinkish.table.expressions",
)

__all__: list[str] = []
