"""Writers of files of rows: a format of Spark's, and what is selected for its columns."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.data_types import RowType
from flinkish.common.ddl import in_sql
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

__all__ = [
    "BulkWriterFactory",
    "RowDataBulkWriterFactory",
    "alike",
    "check_row_type",
    "kind_in_files",
    "shifted",
]

_DECIMAL = re.compile(r"decimal\(\d+,\s*\d+\)")


class BulkWriterFactory(ABC):
    """How elements become files of one of Spark's formats."""

    def __init__(self, format: str, options: Mapping[str, str]) -> None:
        self.format = format
        self.options = dict(options)

    @abstractmethod
    def check(self, kind: TypeInformation | None) -> None:
        """ArgumentTypeError for elements of another type than the files'."""

    @abstractmethod
    def expressions(self, columns: Sequence[str]) -> list[str]:
        """The columns of the files, as SQL over those of the elements."""


class RowDataBulkWriterFactory(BulkWriterFactory):
    """Rows whose fields, by their places, are those of a type; decimals get its digits."""

    def __init__(
        self, format: str, options: Mapping[str, str], row_type: RowType, *, utc: bool = False
    ) -> None:
        super().__init__(format, options)
        self._row_type = check_row_type(row_type)
        self._utc = utc

    def get_row_type(self) -> RowType:
        """The type of the rows."""
        return self._row_type

    def check(self, kind: TypeInformation | None) -> None:
        """ArgumentTypeError names the first field that differs."""
        wanted = kind_in_files(self._row_type.kind)
        assert isinstance(wanted, RowTypeInfo)
        declare = (
            f"give the operator before the sink the output_type {wanted}, or Types.ROW(...) of "
            "these types"
        )
        if not isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
            found = "no declared type" if kind is None else f"the type {kind}"
            raise ArgumentTypeError(
                f"the files have rows of {self._row_type}, and the elements have {found}: {declare}"
            )
        if len(kind.field_types) != len(wanted.field_types):
            raise ArgumentTypeError(
                f"the files have {len(wanted.field_types)} fields, {self._row_type}, and the "
                f"elements {len(kind.field_types)}, {kind}: {declare}"
            )
        for field, given in zip(self._row_type.fields, kind.field_types, strict=True):
            if not alike(given, kind_in_files(field.data_type.kind)):
                raise ArgumentTypeError(
                    f"the field {field.name} of the files is {field.data_type}, and of the "
                    f"elements {given}: {declare}"
                )

    def expressions(self, columns: Sequence[str]) -> list[str]:
        """The fields under the names of the type."""
        found = []
        for field, column in zip(self._row_type.fields, columns, strict=True):
            kind = kind_in_files(field.data_type.kind)
            value = f"cast({in_backticks(column)} AS {kind.to_ddl()})"
            if self._utc:
                value = shifted(kind, value, "from_utc_timestamp")
            found.append(f"{value} AS {in_backticks(field.name)}")
        return found


def kind_in_files(kind: TypeInformation) -> TypeInformation:
    """The type of the elements that files with columns of a type have: instants are of their own.

    PyFlink gives times without a zone as datetimes, and points in time as Instants.
    """
    if isinstance(kind, TimestampTypeInfo):
        return Types.SQL_TIMESTAMP() if kind.wall_clock else Types.INSTANT()
    if isinstance(kind, RowTypeInfo):
        return RowTypeInfo([kind_in_files(one) for one in kind.field_types], kind.get_field_names())
    if isinstance(kind, ListTypeInfo):
        return Types.LIST(kind_in_files(kind.elem_type))
    if isinstance(kind, MapTypeInfo):
        return Types.MAP(kind_in_files(kind.key_type_info), kind_in_files(kind.value_type_info))
    return kind


def check_row_type(row_type: object) -> RowType:
    """The type of the rows of files.

    ArgumentTypeError for what is none; UnsupportedOperationError if it has times of day.
    """
    if not isinstance(row_type, RowType):
        raise ArgumentTypeError(
            "row_type is a type such as DataTypes.ROW([DataTypes.FIELD('id', DataTypes.INT())]), "
            f"not {row_type!r}"
        )
    for field in row_type.fields:
        if _has_times(kind_in_files(field.data_type.kind)):
            raise UnsupportedOperationError(
                f"the field {field.name} is {field.data_type}, and Spark's files have no times of "
                "day: take DataTypes.BIGINT() and microseconds, or DataTypes.TIMESTAMP()"
            )
    return row_type


def shifted(kind: TypeInformation, value: str, function: str) -> str:
    """The SQL of a value with each datetime in it shifted between UTC and the session's zone.

    ``from_utc_timestamp`` makes the instant whose UTC time is the session's time of the value,
    ``to_utc_timestamp`` is the way back.
    """
    if not _has_datetimes(kind):
        return value
    if isinstance(kind, RowTypeInfo):
        parts = ", ".join(
            f"{shifted(one, f'{value}.{in_backticks(name)}', function)} AS {in_backticks(name)}"
            for name, one in zip(kind.get_field_names(), kind.field_types, strict=True)
        )
        return f"if({value} IS NULL, NULL, struct({parts}))"
    if isinstance(kind, MapTypeInfo):
        key = shifted(kind.key_type_info, "k", function)
        item = shifted(kind.value_type_info, "v", function)
        return f"transform_values(transform_keys({value}, (k, v) -> {key}), (k, v) -> {item})"
    if isinstance(kind, _ElementsTypeInfo):
        return f"transform({value}, x -> {shifted(kind.elem_type, 'x', function)})"
    return f"{function}({value}, current_timezone())"


def alike(given: TypeInformation, wanted: TypeInformation) -> bool:
    """Whether values fit columns, whatever the names of fields and the digits of decimals."""
    if isinstance(wanted, RowTypeInfo):
        return (
            isinstance(given, (RowTypeInfo, TupleTypeInfo))
            and len(given.field_types) == len(wanted.field_types)
            and all(map(alike, given.field_types, wanted.field_types))
        )
    if isinstance(wanted, MapTypeInfo):
        return (
            isinstance(given, MapTypeInfo)
            and alike(given.key_type_info, wanted.key_type_info)
            and alike(given.value_type_info, wanted.value_type_info)
        )
    if isinstance(wanted, _ElementsTypeInfo) and wanted.to_ddl() != "binary":
        return (
            isinstance(given, _ElementsTypeInfo)
            and given.to_ddl() != "binary"
            and alike(given.elem_type, wanted.elem_type)
        )
    return _ddl(given) == _ddl(wanted)


def _ddl(type_: TypeInformation) -> str:
    """The type of a value's column, without the precision of decimals."""
    return _DECIMAL.sub("decimal", in_sql(type_).to_ddl())


def _parts(kind: TypeInformation) -> Sequence[TypeInformation]:
    if isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
        return kind.field_types
    if isinstance(kind, MapTypeInfo):
        return (kind.key_type_info, kind.value_type_info)
    return (kind.elem_type,) if isinstance(kind, _ElementsTypeInfo) else ()


def _has_times(kind: TypeInformation) -> bool:
    return isinstance(kind, TimeTypeInfo) or any(map(_has_times, _parts(kind)))


def _has_datetimes(kind: TypeInformation) -> bool:
    return isinstance(kind, TimestampTypeInfo) or any(map(_has_datetimes, _parts(kind)))
