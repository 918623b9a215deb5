"""Types of columns, and their texts in Flink's SQL."""

import pytest

from flinkish.common import Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.table import DataTypes, TableSchema
from flinkish.table.type_texts import parse_type, type_of
from flinkish.table.types import DataType, data_type_of

TEXTS = [
    ("INT", "INT", "int"),
    ("integer not null", "INT NOT NULL", "int"),
    ("BIGINT NULL", "BIGINT", "bigint"),
    ("TINYINT", "TINYINT", "tinyint"),
    ("smallint", "SMALLINT", "smallint"),
    ("FLOAT", "FLOAT", "float"),
    ("DOUBLE PRECISION", "DOUBLE", "double"),
    ("BOOLEAN", "BOOLEAN", "boolean"),
    ("STRING", "STRING", "string"),
    ("CHAR(3)", "CHAR(3)", "string"),
    ("VARCHAR", "VARCHAR(1)", "string"),
    ("BYTES", "BYTES", "binary"),
    ("VARBINARY(9)", "VARBINARY(9)", "binary"),
    ("DATE", "DATE", "date"),
    ("DECIMAL", "DECIMAL(10, 0)", "decimal(10,0)"),
    ("NUMERIC(5)", "DECIMAL(5, 0)", "decimal(5,0)"),
    ("dec(5, 2)", "DECIMAL(5, 2)", "decimal(5,2)"),
    ("DECIMAL(38, 18)", "DECIMAL(38, 18)", "decimal(38,18)"),
    ("TIMESTAMP", "TIMESTAMP(6)", "timestamp_ntz"),
    ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)", "timestamp_ntz"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)", "timestamp"),
    ("TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(3)", "timestamp"),
    ("ARRAY<INT NOT NULL>", "ARRAY<INT NOT NULL>", "array<int>"),
    ("MAP<STRING, ARRAY<DATE>>", "MAP<STRING, ARRAY<DATE>>", "map<string,array<date>>"),
    ("ROW<a INT, `b c` STRING 'why'>", "ROW<`a` INT, `b c` STRING>", "struct<a:int,`b c`:string>"),
    ("ROW(a ROW<x DOUBLE>)", "ROW<`a` ROW<`x` DOUBLE>>", "struct<a:struct<x:double>>"),
]


@pytest.mark.parametrize(("text", "shown", "ddl"), TEXTS)
def test_texts_of_flinks_sql(text: str, shown: str, ddl: str) -> None:
    found = parse_type(text)
    assert str(found) == shown
    assert found.kind.to_ddl() == ddl
    assert str(parse_type(shown)) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("INTT", "did you mean 'INT'"),
        ("", "a name expected, not the end"),
        ("ARRAY INT", "< expected, not INT"),
        ("MAP<INT>", ", expected, not >"),
        ("INT INT", "INT is too much"),
        ("DECIMAL(x)", "a number expected, not x"),
        ("DECIMAL(5", "a name expected, not the end"),
        ("INT; DROP", "'; DROP' is no part"),
    ],
)
def test_texts_that_are_no_types(text: str, why: str) -> None:
    with pytest.raises(IllegalArgumentError, match="is no type of Flink's SQL") as error:
        parse_type(text)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Types.STRING(), "STRING"),
        (Types.CHAR(), "STRING"),
        (Types.BIG_INT(), "DECIMAL(38, 0)"),
        (Types.BIG_DEC(), "DECIMAL(38, 18)"),
        (Types.SQL_DATE(), "DATE"),
        (Types.SQL_TIME(), "TIME(0)"),
        (Types.SQL_TIMESTAMP(), "TIMESTAMP_LTZ(6)"),
        (Types.INSTANT(), "TIMESTAMP_LTZ(6)"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "BYTES"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "ARRAY<INT>"),
        (Types.LIST(Types.SHORT()), "ARRAY<SMALLINT>"),
        (Types.MAP(Types.STRING(), Types.FLOAT()), "MAP<STRING, FLOAT>"),
        (Types.TUPLE([Types.INT(), Types.BOOLEAN()]), "ROW<`f0` INT, `f1` BOOLEAN>"),
        (Types.ROW_NAMED(["a"], [Types.BYTE()]), "ROW<`a` TINYINT>"),
    ],
)
def test_types_of_elements(kind: TypeInformation, text: str) -> None:
    assert str(data_type_of(kind)) == text


def test_types_without_columns() -> None:
    with pytest.raises(IllegalArgumentError, match="have no columns"):
        data_type_of(Types.PICKLED_BYTE_ARRAY())


def test_data_types() -> None:
    assert DataTypes.INT() == DataTypes.INT()
    assert DataTypes.INT() != DataTypes.INT(nullable=False)
    assert str(DataTypes.STRING().not_null()) == "STRING NOT NULL"
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.TIME(3)), DataTypes.BINARY(2)])
    assert str(row) == "ROW<`a` TIME(3), `f1` BINARY(2)>"
    assert type_of(row) is row
    assert (
        str(DataTypes.MAP(DataTypes.STRING(), DataTypes.DATE(False)))
        == "MAP<STRING, DATE NOT NULL>"
    )
    with pytest.raises(ArgumentTypeError, match="data_type is a type such as"):
        DataTypes.FIELD("a", "INT")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="or 'INT', not 3"):
        type_of(3)  # type: ignore[arg-type]


def test_schemas_of_tables() -> None:
    schema = TableSchema.of(RowTypeInfo([Types.INT(), Types.STRING()], ["n", "w"]))
    assert repr(schema) == "root\n |-- n: INT\n |-- w: STRING\n"
    assert schema == schema.copy()
    assert hash(schema) == hash(schema.copy())
    assert schema != "schema"
    assert schema.get_field_count() == 2
    assert schema.get_field_data_type("w") == schema.get_field_data_type(1) == DataTypes.STRING()
    assert schema.get_field_data_type("x") is schema.get_field_data_type(2) is None
    assert (schema.get_field_name(0), schema.get_field_name(7)) == ("n", None)
    assert isinstance(schema.to_row_data_type(), DataType)
    assert str(schema.to_row_data_type()) == "ROW<`n` INT, `w` STRING>"
    with pytest.raises(IllegalArgumentError, match="1 names and 2 types"):
        TableSchema(["a"], [DataTypes.INT(), DataTypes.INT()])
