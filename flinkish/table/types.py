"""PyFlink's module of the types of columns."""

from flinkish.common.data_types import DataType, DataTypes, NumericType, RowField, RowType

__all__ = ["DataType", "DataTypes", "NumericType", "RowField", "RowType"]
