"""PyFlink's module of modules of functions, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "HiveModule Module ModuleEntry",
    "the functions of SQL are Spark's; add yours with create_temporary_function",
)

__all__: list[str] = []
