"""Rows; they are compiled, see :mod:`flinkish._core.row`."""

from flinkish._core.row import FieldNameError, Row, RowKind, rows_of

__all__ = ["FieldNameError", "Row", "RowKind", "rows_of"]
