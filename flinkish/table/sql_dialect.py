"""PyFlink's dialects of SQL; statements here are of Spark's, which resembles Hive's."""

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """The words of statements."""

    DEFAULT = 0
    HIVE = 1
