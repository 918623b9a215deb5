import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common import Types
from flinkish.common.ddl import in_sql, schema_ddl, type_from_ddl
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import DecimalTypeInfo, TimestampTypeInfo, TypeInformation

BINARY = Types.PRIMITIVE_ARRAY(Types.BYTE())


@pytest.mark.parametrize(
    ("ddl", "kind"),
    [
        ("boolean", Types.BOOLEAN()),
        ("TINYINT", Types.BYTE()),
        ("byte", Types.BYTE()),
        ("short", Types.SHORT()),
        ("integer", Types.INT()),
        ("long", Types.LONG()),
        ("real", Types.FLOAT()),
        ("double", Types.DOUBLE()),
        ("string", Types.STRING()),
        ("varchar(10)", Types.STRING()),
        ("char(3)", Types.STRING()),
        ("binary", BINARY),
        ("date", Types.SQL_DATE()),
        ("time", Types.SQL_TIME()),
        ("time(6)", Types.SQL_TIME()),
        ("timestamp", Types.SQL_TIMESTAMP()),
        ("timestamp_ltz", Types.SQL_TIMESTAMP()),
        ("timestamp_ntz", TimestampTypeInfo(wall_clock=True)),
        ("decimal", DecimalTypeInfo(10, 0)),
        ("dec(5)", DecimalTypeInfo(5, 0)),
        ("numeric( 5 , 2 )", DecimalTypeInfo(5, 2)),
        ("decimal(38,18)", DecimalTypeInfo(38, 18)),
        ("array<array<int>>", Types.LIST(Types.LIST(Types.INT()))),
        ("map<string,array<date>>", Types.MAP(Types.STRING(), Types.LIST(Types.SQL_DATE()))),
        ("struct<>", Types.ROW_NAMED([], [])),
        ("struct<a:int, b string>", Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])),
        ("a int, b string", Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])),
        ("a: int", Types.ROW_NAMED(["a"], [Types.INT()])),
        ("date date", Types.ROW_NAMED(["date"], [Types.SQL_DATE()])),
        ("`a b``c` int", Types.ROW_NAMED(["a b`c"], [Types.INT()])),
        (
            "a int NOT NULL COMMENT 'it''s, <so>', b long comment \"x\"",
            Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LONG()]),
        ),
    ],
)
def test_reading(ddl: str, kind: TypeInformation) -> None:
    assert type_from_ddl(ddl) == kind


@pytest.mark.parametrize(
    ("ddl", "why"),
    [
        ("", "it ends too early"),
        ("foo", "'foo' is none of the types"),
        ("n Bigit", "; did you mean 'bigint'?"),
        ("a foo", "'foo' is none of the types"),
        ("variant", "'variant' is none of the types"),
        ("d interval day to second", "'interval' is none of the types"),
        ("array<int", "> expected, not the end"),
        ("array<int>>", "'>' is too much"),
        ("map<int>", ", expected, not '>'"),
        ("a int,", "it ends too early"),
        ("a int b string", "'b' is too much"),
        ("a int; b int", "'; b int' is not part of a type"),
        ("a, b", "',' is none of the types"),
        ("struct<a:int,:int>", "a field name expected, not ':'"),
        ("a int not", "null expected, not the end"),
        ("decimal(a)", "a number expected, not 'a'"),
        ("decimal(1,2,3)", "takes a precision and a scale"),
    ],
)
def test_what_cannot_be_read_is_shown_with_its_fault(ddl: str, why: str) -> None:
    with pytest.raises(IllegalArgumentError) as caught:
        type_from_ddl(ddl)
    assert why in str(caught.value)
    assert repr(ddl) in str(caught.value)


def test_figures_out_of_range() -> None:
    with pytest.raises(IllegalArgumentError, match="precision must be 1 to 38"):
        type_from_ddl("decimal(39)")
    with pytest.raises(IllegalArgumentError, match="must differ"):
        type_from_ddl("a int, a int")
    with pytest.raises(ArgumentTypeError, match="must be a str"):
        type_from_ddl(5)  # type: ignore[arg-type]


PLAIN = st.sampled_from(
    [
        *(Types.STRING(), Types.BYTE(), Types.BOOLEAN(), Types.SHORT(), Types.INT(), Types.LONG()),
        *(Types.FLOAT(), Types.DOUBLE(), DecimalTypeInfo(38, 18), DecimalTypeInfo(7, 3), BINARY),
        *(Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), TimestampTypeInfo(True)),
    ]
)
NAMES = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1)


def nest(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    fields = st.dictionaries(NAMES, inner, max_size=4)
    return st.one_of(
        inner.map(Types.LIST),
        st.builds(Types.MAP, inner, inner),
        fields.map(lambda named: Types.ROW_NAMED(named.keys(), named.values())),
    )


@given(st.recursive(PLAIN, nest, max_leaves=8))
def test_there_and_back(kind: TypeInformation) -> None:
    assert type_from_ddl(kind.to_ddl()) == kind


@given(st.dictionaries(NAMES, PLAIN, min_size=1, max_size=5))
def test_whole_schemas_there_and_back(named: dict[str, TypeInformation]) -> None:
    kind = Types.ROW_NAMED(named.keys(), named.values())
    assert type_from_ddl(schema_ddl(kind)) == kind


def test_schemas() -> None:
    assert schema_ddl(Types.ROW_NAMED(["a", "b c"], [Types.INT(), Types.LONG()])) == (
        "a int, `b c` bigint"
    )
    assert schema_ddl(Types.TUPLE([Types.INT(), Types.STRING()])) == "f0 int, f1 string"
    assert schema_ddl(Types.LONG()) == "value bigint"
    assert schema_ddl(Types.PICKLED_BYTE_ARRAY(), "pickle") == "pickle binary"


def test_digits_in_sql() -> None:
    """No column of numbers has room for all digits of Java's, so tables take the widest."""
    kind = Types.ROW_NAMED(
        ["d", "l", "m", "t", "s"],
        [
            Types.BIG_DEC(),
            Types.LIST(Types.BIG_INT()),
            Types.MAP(Types.STRING(), Types.BIG_DEC()),
            Types.TUPLE([Types.BIG_DEC()]),
            Types.STRING(),
        ],
    )
    assert in_sql(kind).to_ddl() == (
        "struct<d:decimal(38,18),l:array<decimal(38,0)>,m:map<string,decimal(38,18)>,"
        "t:struct<f0:decimal(38,18)>,s:string>"
    )
