"""Rows; they are compiled, see :mod:`flinkish._core.values.row`."""

from flinkish._core.values.row import FieldNameError, Row, RowKind, rows_of

__all__ = ["FieldNameError", "Row", "RowKind", "rows_of"]
