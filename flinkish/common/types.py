"""PyFlink keeps ``Row`` and ``RowKind`` in a module of this name; ``Types`` is here as well."""

from flinkish.common.row import Row, RowKind
from flinkish.common.typeinfo import TypeInformation, Types

__all__ = ["Row", "RowKind", "TypeInformation", "Types"]
