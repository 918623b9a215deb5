"""PyFlink's SQL dialects; statements here are in Spark's dialect, which resembles Hive's."""

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """The dialect of statements."""

    DEFAULT = 0
    HIVE = 1
