"""Columns of a query as those of a table that it is written to, or of a schema."""

from __future__ import annotations

from collections.abc import Sequence

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DecimalTypeInfo,
    InstantTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TypeInformation,
)
from flinkish.table.types import data_type_of

__all__ = ["assigned", "check_same_types"]

_INTEGERS = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT)
_FRACTIONS = (BasicType.FLOAT, BasicType.DOUBLE, BasicType.BIG_DEC)


def assigned(
    table: str, wanted: RowTypeInfo, given: RowTypeInfo, columns: Sequence[str] = ()
) -> str:
    """The text between SELECT and FROM that makes rows of one type those of a table.

    Columns go by place: to all of the table, or to those that are named, and the others are null.
    Integers become numbers of other types, fractions other fractions, and times other times; an
    integer that is too large fails the job, unless ``spark.sql.ansi.enabled`` is off.
    IllegalArgumentError for anything else.
    """
    names = wanted.get_field_names()
    kinds = dict(zip(names, wanted.field_types, strict=True))
    targets = list(columns or names)
    unknown = [one for one in targets if one not in kinds]
    sources = list(zip(given.get_field_names(), given.field_types, strict=True))
    if unknown or len(targets) != len(sources):
        raise IllegalArgumentError(
            f"the table {table} takes {_listed(list(kinds.items()))}, and the query has "
            f"{_listed(sources)}"
            + (f", for columns that it has not: {', '.join(unknown)}" if unknown else "")
        )
    found = dict(zip(targets, sources, strict=True))
    made = []
    for name in names:
        kind = kinds[name]
        value = "NULL"
        if name in found:
            source, its = found[name]
            if its != kind and _family(its) not in _accepted(kind):
                raise IllegalArgumentError(
                    f"the column {name!r} of the table {table} is {data_type_of(kind)}, and the "
                    f"query gives {source!r}, {data_type_of(its)}: cast it in the query, "
                    f"CAST({source} AS {kind.to_ddl()})"
                )
            value = in_backticks(source)
        made.append(f"CAST({value} AS {kind.to_ddl()}) AS {in_backticks(name)}")
    return ", ".join(made)


def check_same_types(given: RowTypeInfo, kinds: Sequence[TypeInformation], what: str) -> None:
    """ArgumentTypeError unless columns have these types, in order."""
    texts = [one.to_ddl() for one in given.field_types]
    if texts != [one.to_ddl() for one in kinds]:
        sources = list(zip(given.get_field_names(), given.field_types, strict=True))
        raise ArgumentTypeError(
            f"{what} takes a type whose fields are those of the table, in order: the table has "
            f"{_listed(sources)}, and the type {', '.join(str(data_type_of(one)) for one in kinds)}"
        )


def _family(kind: TypeInformation) -> str:
    if isinstance(kind, BasicTypeInfo):
        if kind.basic_type in _INTEGERS:
            return "integers"
        if kind.basic_type in _FRACTIONS:
            return "fractions"
    if isinstance(kind, DecimalTypeInfo):
        return "fractions" if kind.scale else "integers"
    if isinstance(kind, (TimestampTypeInfo, InstantTypeInfo)):
        return "times"
    return kind.to_ddl()


def _accepted(kind: TypeInformation) -> tuple[str, ...]:
    """The families of types whose values a column takes."""
    family = _family(kind)
    return ("integers", "fractions") if family == "fractions" else (family,)


def _listed(columns: Sequence[tuple[str, TypeInformation]]) -> str:
    return ", ".join(f"{name} {data_type_of(kind)}" for name, kind in columns)
