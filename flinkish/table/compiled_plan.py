"""PyFlink's module of compiled plans, whose name is refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "CompiledPlan",
    "Spark plans a query when its job runs: keep the statement, and run it again",
)

__all__: list[str] = []
