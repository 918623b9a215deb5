"""The types of columns by the names of the Table API."""

from __future__ import annotations

from typing import Any

import pytest

from flinkish.common.bulk import alike, kind_in_files, shifted
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import DecimalTypeInfo, Types
from flinkish.table import DataTypes
from flinkish.table.types import DataType, RowField, RowType

FIELD = DataTypes.FIELD


def test_types_have_names_and_elements() -> None:
    row = DataTypes.ROW(
        [
            FIELD("id", DataTypes.BIGINT(nullable=False)),
            FIELD("tags", DataTypes.ARRAY(DataTypes.CHAR(3)), "of the shop"),
            FIELD("at", DataTypes.TIMESTAMP(3)),
            FIELD("more", DataTypes.MAP(DataTypes.STRING(), DataTypes.DECIMAL(38, 18))),
        ]
    )
    assert str(row) == (
        "ROW<`id` BIGINT NOT NULL, `tags` ARRAY<CHAR(3)>, `at` TIMESTAMP(3), "
        "`more` MAP<STRING, DECIMAL(38, 18)>>"
    )
    assert kind_in_files(row.kind) == Types.ROW_NAMED(
        ["id", "tags", "at", "more"],
        [
            Types.LONG(),
            Types.LIST(Types.STRING()),
            Types.SQL_TIMESTAMP(),
            Types.MAP(Types.STRING(), DecimalTypeInfo(38, 18)),
        ],
    )
    assert isinstance(row, RowType)
    assert row.field_names() == row.names == ["id", "tags", "at", "more"]
    assert row.field_types()[2] == DataTypes.TIMESTAMP(3)
    assert [len(row), len(list(row))] == [4, 4]
    assert next(iter(row)) == RowField("id", DataTypes.BIGINT(nullable=False))
    assert kind_in_files(DataTypes.TIMESTAMP_LTZ().kind) == Types.INSTANT()
    assert row.not_null() == DataTypes.ROW(row.fields, nullable=False)
    assert DataTypes.TIMESTAMP_LTZ() == DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE()
    assert DataTypes.VARBINARY(3).kind.to_ddl() == "binary"
    assert isinstance(DataTypes.TIME(), DataType)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: DataTypes.DECIMAL(39, 2), IllegalArgumentError, r"1 to 38 digits .* \(39, 2\)"),
        (lambda: DataTypes.DECIMAL(3, 4), IllegalArgumentError, "at most all of them after"),
        (lambda: DataTypes.CHAR(0), IllegalArgumentError, "length must be 1 or more"),
        (lambda: FIELD("a", DataTypes.INT), ArgumentTypeError, r"data_type .*\(call it\)"),
        (lambda: DataTypes.ARRAY(Types.INT()), ArgumentTypeError, "such as DataTypes.BIGINT"),
        (lambda: DataTypes.ROW([("a", 1)]), ArgumentTypeError, "fields such as DataTypes.FIELD"),
    ],
)
def test_what_is_no_type(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


def test_types_that_fit_files() -> None:
    """Names of fields and digits of decimals may differ, and tuples are rows."""
    wanted = DataTypes.ROW(
        [FIELD("a", DataTypes.DECIMAL(5, 2)), FIELD("b", DataTypes.ARRAY(DataTypes.BYTES()))]
    ).kind
    binary = Types.PRIMITIVE_ARRAY(Types.BYTE())
    assert alike(Types.TUPLE([Types.BIG_DEC(), Types.OBJECT_ARRAY(binary)]), wanted)
    assert not alike(Types.TUPLE([Types.DOUBLE(), Types.LIST(binary)]), wanted)
    assert not alike(Types.TUPLE([Types.BIG_DEC(), binary]), wanted)
    assert not alike(Types.TUPLE([Types.BIG_DEC()]), wanted)
    assert not alike(Types.MAP(Types.INT(), Types.INT()), Types.MAP(Types.INT(), Types.LONG()))
    assert not alike(Types.INT(), Types.MAP(Types.INT(), Types.INT()))


def test_values_without_datetimes_stay() -> None:
    assert shifted(Types.LIST(Types.INT()), "`x`", "to_utc_timestamp") == "`x`"
    maps = Types.MAP(Types.SQL_TIMESTAMP(), Types.INT())
    assert shifted(maps, "m", "f") == (
        "transform_values(transform_keys(m, (k, v) -> f(k, current_timezone())), (k, v) -> v)"
    )
