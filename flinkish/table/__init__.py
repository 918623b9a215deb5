"""PyFlink's module of the types of columns; there is no Table API.

Owns: names.
Uses: ``common``, which has the types.
Must not: hold code of its own.
"""

from flinkish.common.data_types import DataTypes

__all__ = ["DataTypes"]
