"""Records that functions return, as columns: forms of records, types, mismatches."""

import pickle
from collections import OrderedDict, namedtuple
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish._core.columns.columns import RecordMismatch, columns_from_rows
from flinkish._core.columns.records import RecordReader
from flinkish._core.values.row import Row
from tests.core.test_records import COLUMNS

UTC = timezone.utc
PAIR = namedtuple("PAIR", ["left", "right"])
TWO = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])


class SparkRow(tuple[Any, ...]):
    """As pyspark makes them: a tuple that may know its fields."""

    __fields__: list[str]


def spark_row(**fields: Any) -> SparkRow:
    row = SparkRow(fields.values())
    row.__fields__ = list(fields)
    return row


def one(kind: pa.DataType, *, nullable: bool = True) -> pa.Schema:
    return pa.schema([pa.field("x", kind, nullable)])


def built(values: list[Any], kind: pa.DataType, **options: Any) -> list[Any]:
    """Values through a one-column batch, as pyarrow sees them."""
    batch = columns_from_rows([(value,) for value in values], one(kind), **options)
    batch.validate(full=True)
    assert batch.schema == one(kind)
    return list(batch.column(0).to_pylist())


def refused(records: list[Any], schema: pa.Schema, **options: Any) -> RecordMismatch:
    with pytest.raises(RecordMismatch) as caught:
        columns_from_rows(records, schema, **options)
    return caught.value


# ---------------------------------------------------------------- forms of records


@pytest.mark.parametrize(
    "record",
    [
        (1, "a"),
        [1, "a"],
        Row(1, "a"),
        Row(id=1, name="a"),
        Row(name="a", id=1),
        {"id": 1, "name": "a"},
        {"name": "a", "id": 1},
        OrderedDict(name="a", id=1),
        SparkRow((1, "a")),
        spark_row(id=1, name="a"),
        spark_row(name="a", id=1),
        PAIR(1, "a"),
    ],
    ids=repr,
)
def test_every_form_of_a_record(record: Any) -> None:
    assert columns_from_rows([record, record], TWO).to_pylist() == [{"id": 1, "name": "a"}] * 2


def test_records_come_from_any_iterable_in_any_mixture() -> None:
    batch = columns_from_rows(iter([(1, "a"), {"id": 2, "name": None}, Row(id=3, name=None)]), TWO)
    assert batch.schema == TWO
    assert batch.to_pydict() == {"id": [1, 2, 3], "name": ["a", None, None]}


def test_no_records_make_an_empty_batch() -> None:
    batch = columns_from_rows(
        [], pa.schema([(f"c{i}", kind) for i, (kind, _) in enumerate(COLUMNS)])
    )
    batch.validate(full=True)
    assert batch.num_rows == 0


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [5, (6,), [7], {"x": 8}, Row(x=9), Row(10), None, spark_row(x=11)]),
        (pa.string(), ["abc", ("d",), None]),
    ],
)
def test_with_one_column_a_record_may_be_the_value(kind: pa.DataType, values: list[Any]) -> None:
    wanted = [5, 6, 7, 8, 9, 10, None, 11] if kind == pa.int64() else ["abc", "d", None]
    assert columns_from_rows(values, one(kind)).column(0).to_pylist() == wanted


def test_one_column_of_lists_maps_or_structs() -> None:
    lists = columns_from_rows([[1, 2], ([3],), []], one(pa.list_(pa.int64())))
    assert lists.column(0).to_pylist() == [[1, 2], [3], []]
    maps = columns_from_rows(
        [{"a": 1}, {"x": {"b": 2}}, ({"x": 3},)], one(pa.map_(pa.string(), pa.int64()))
    )
    assert maps.column(0).to_pylist() == [[("a", 1)], [("b", 2)], [("x", 3)]]
    struct = one(pa.struct([("a", pa.int64())]))
    rows = [{"a": 1}, {"x": {"a": 2}}, Row(a=3), Row(x=Row(a=4)), (Row(a=5),), spark_row(a=6)]
    structs = columns_from_rows(rows, struct)
    assert structs.column(0).to_pylist() == [{"a": i} for i in range(1, 7)]


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(("kind", "values"), COLUMNS, ids=[str(kind) for kind, _ in COLUMNS])
@settings(max_examples=30)
@given(data=st.data())
def test_what_a_reader_gives_makes_the_same_column(
    kind: pa.DataType, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    column = data.draw(st.lists(st.none() | values, max_size=20))
    batch = columns_from_rows([(value,) for value in column], one(kind))
    batch.validate(full=True)
    array = pa.array(
        [list(v.items()) if pa.types.is_map(kind) and v is not None else v for v in column], kind
    )
    assert batch.column(0).equals(array)
    rows = RecordReader(batch).rows()
    assert columns_from_rows(rows, batch.schema) == batch


def test_numpy_scalars_are_numbers_too() -> None:
    assert built([np.int64(3), np.uint8(4), 5], pa.int32()) == [3, 4, 5]
    assert built([np.float32(0.5), np.int16(2), np.float64(1.5)], pa.float64()) == [0.5, 2.0, 1.5]
    assert built([np.bool_(True), False], pa.bool_()) == [True, False]
    assert built([np.str_("a")], pa.string()) == ["a"]
    assert built([np.array([1, 2])], pa.list_(pa.int64())) == [[1, 2]]


def test_bytes_of_any_kind() -> None:
    values = [b"a", bytearray(b"b"), memoryview(b"c"), None]
    assert built(values, pa.binary()) == [b"a", b"b", b"c", None]


def test_whole_numbers_and_specials_as_floats() -> None:
    assert built([3, -(2**60), float("inf")], pa.float64()) == [3.0, -(2.0**60), float("inf")]
    assert np.isnan(built([float("nan")], pa.float32())[0])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_instants_in_every_unit(unit: str) -> None:
    at = datetime(2013, 1, 1, 5, 17, tzinfo=UTC)
    plus = at.astimezone(timezone(timedelta(hours=5, minutes=30)))
    milliseconds = int(at.timestamp() * 1000)
    kind = pa.timestamp(unit, "UTC")
    batch = columns_from_rows([at, plus, milliseconds, at.replace(tzinfo=None)], one(kind))
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    assert batch.column(0).cast(pa.int64()).to_pylist() == [milliseconds // 1000 * per_second] * 4


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.sampled_from([0, 1]))
def test_naive_times_are_read_in_the_zone_asked_for(at: datetime, fold: int) -> None:
    at = at.replace(fold=fold)
    zone = ZoneInfo("America/New_York")
    [found] = built([at], pa.timestamp("us", "UTC"), time_zone="America/New_York")
    assert found == at.replace(tzinfo=zone).astimezone(UTC)
    assert built([at], pa.timestamp("us", "UTC"), time_zone=zone) == [found]


def test_the_fold_of_a_time_that_occurs_twice() -> None:
    twice = datetime(2021, 10, 31, 2, 30)
    values = [twice, twice.replace(fold=1)]
    found = built(values, pa.timestamp("us", "UTC"), time_zone="Europe/Berlin")
    assert [at.hour for at in found] == [0, 1]


@pytest.mark.parametrize("zone", [None, "UTC", "Etc/UTC", UTC])
def test_naive_times_are_utc_by_default(zone: Any) -> None:
    at = datetime(2021, 7, 1, 12)
    assert built([at], pa.timestamp("us", "UTC"), time_zone=zone) == [at.replace(tzinfo=UTC)]


def test_columns_without_zone_keep_what_the_clock_shows() -> None:
    at = datetime(2021, 7, 1, 12, 0, 0, 5)
    assert built([at, 1000], pa.timestamp("us"), time_zone="Asia/Tokyo") == [
        at,
        datetime(1970, 1, 1, 0, 0, 1),
    ]
    error = refused([at.replace(tzinfo=UTC)], one(pa.timestamp("us")))
    assert "a datetime without time zone" in error.needed


def test_pandas_timestamps_and_nat() -> None:
    pd = pytest.importorskip("pandas")
    at = pd.Timestamp("2021-07-01 12:00:00.000005", tz="UTC")
    assert built([at, pd.NaT], pa.timestamp("us", "UTC")) == [at.to_pydatetime(), None]
    error = refused([at + pd.Timedelta(1, "ns")], one(pa.timestamp("us", "UTC")))
    assert "whole microseconds" in error.needed


def test_nested_values_follow_the_same_rules() -> None:
    kind = pa.struct(
        [
            ("at", pa.timestamp("us", "UTC")),
            ("parts", pa.list_(pa.struct([("n", pa.int32()), ("s", pa.string())]))),
            ("map", pa.map_(pa.string(), pa.struct([("n", pa.int32())]))),
        ]
    )
    record = Row(
        at=datetime(2021, 7, 1, 14),
        parts=[Row(1, "a"), {"n": 2, "s": None}, (3, None), None],
        map={"k": Row(n=4), "l": None},
    )
    [found, none] = built([record, None], kind, time_zone="Europe/Berlin")
    assert found == {
        "at": datetime(2021, 7, 1, 12, tzinfo=UTC),
        "parts": [{"n": 1, "s": "a"}, {"n": 2, "s": None}, {"n": 3, "s": None}, None],
        "map": [("k", {"n": 4}), ("l", None)],
    }
    assert none is None


def test_a_field_that_may_not_be_none_is_none_inside_a_struct_that_is_none() -> None:
    kind = pa.struct([pa.field("a", pa.int64(), nullable=False)])
    assert built([None, {"a": 1}], kind) == [None, {"a": 1}]
    assert refused([({"a": None},)], one(kind)).column == "x.a"


# ---------------------------------------------------------------- mismatches

MISFITS: list[tuple[pa.DataType, Any, str, str]] = [
    (pa.int64(), True, "bool True", "an int for int64"),
    (pa.int64(), np.bool_(True), "bool", "an int for int64"),
    (pa.int64(), 1.0, "float 1.0", "an int for int64"),
    (pa.int64(), "1", "str '1'", "an int for int64"),
    (pa.int64(), 2**63, "int 9223372036854775808", "an int of 64 bits for int64"),
    (pa.int32(), 2**31, "int 2147483648", "an int from -2147483648 to 2147483647 for int32"),
    (pa.int32(), -(2**31) - 1, "int -2147483649", "an int from -2147483648"),
    (pa.int16(), 32768, "int 32768", "an int from -32768 to 32767 for int16"),
    (pa.int8(), -129, "int -129", "an int from -128 to 127 for int8"),
    (pa.uint8(), 256, "int 256", "for uint8"),
    (pa.uint8(), True, "bool True", "a number for uint8"),
    (pa.uint64(), -1, "int -1", "for uint64"),
    (pa.float64(), True, "bool True", "a float or int for double"),
    (pa.float64(), "x", "str 'x'", "a float or int for double"),
    (pa.float64(), Decimal(1), "Decimal Decimal('1')", "a float or int for double"),
    (pa.float64(), 10**400, "int 1000", "a number within the range for double"),
    (pa.float32(), 1e39, "float 1e+39", "a number within the range for float"),
    (pa.bool_(), 1, "int 1", "a bool for bool"),
    (pa.string(), b"a", "bytes b'a'", "a str for string"),
    (pa.string(), 1, "int 1", "a str for string"),
    (pa.string(), "\ud800", r"str '\ud800'", "no lone surrogates"),
    (pa.binary(), "a", "str 'a'", "bytes for binary"),
    (pa.date32(), datetime(2020, 1, 1), "datetime datetime", "a datetime.date without time"),
    (pa.date32(), 5, "int 5", "a datetime.date without time for date32[day]"),
    (pa.timestamp("us", "UTC"), date(2020, 1, 1), "date datetime.date", "a datetime, or an int"),
    (pa.timestamp("us", "UTC"), 1.5, "float 1.5", "an int of milliseconds for timestamp[us, tz="),
    (pa.timestamp("us", "UTC"), True, "bool True", "a datetime, or an int of milliseconds"),
    (pa.timestamp("us", "UTC"), 2**62, "int 4611", "a time within the range"),
    (pa.timestamp("ns", "UTC"), datetime(9999, 1, 1), "datetime", "a time within the range"),
    (pa.timestamp("s", "UTC"), 1500, "int 1500", "a whole number of s for timestamp[s"),
    (pa.timestamp("ms"), datetime(2020, 1, 1, 0, 0, 0, 1), "datetime", "a whole number of ms"),
    (pa.decimal128(3, 1), Decimal("1.25"), "Decimal Decimal('1.25')", "for decimal128(3, 1)"),
    (pa.decimal128(3, 1), True, "bool True", "a number for decimal128(3, 1)"),
    (pa.list_(pa.int64()), "ab", "str 'ab'", "a list for list<"),
    (pa.map_(pa.string(), pa.int64()), [1], "list [1]", "a dict for map<"),
    (pa.struct([("a", pa.int64())]), 5, "int 5", "a tuple, list, dict or Row of a"),
]


@pytest.mark.parametrize(
    ("kind", "value", "found", "needed"), MISFITS, ids=[f"{m[0]}-{m[1]!r:.20}" for m in MISFITS]
)
def test_a_value_that_does_not_fit(kind: pa.DataType, value: Any, found: str, needed: str) -> None:
    error = refused([(None,), (value,)], one(kind))
    assert error.row_index == 1
    assert error.row == (text if len(text := repr((value,))) <= 200 else text[:197] + "...")
    assert error.column == "x"
    assert found in error.found
    assert needed in error.needed
    assert isinstance(error, ValueError)
    assert str(error) == (
        f"column 'x': needed {error.needed}, found {error.found}, in record 1: {error.row}"
    )


@pytest.mark.parametrize("kind", [kind for kind, _ in COLUMNS if kind != pa.null()], ids=str)
def test_none_in_a_column_that_may_not_be_null(kind: pa.DataType) -> None:
    error = refused([(None,)], one(kind, nullable=False))
    assert error.found == "None"
    assert error.needed == f"a value that is not None for {kind}"


@pytest.mark.parametrize(
    ("record", "column", "found", "needed"),
    [
        ((1,), None, "1 value", "2: id, name"),
        ((1, "a", 2), None, "3 values", "2: id, name"),
        (Row(1, "a", 2), None, "3 values", "2: id, name"),
        ({"id": 1, "nam": "a"}, None, "unknown field 'nam'", "the fields id, name"),
        (Row(id=1, nam="a"), None, "unknown field 'nam'", "the fields id, name"),
        (spark_row(id=1, x=2, y=3), None, "unknown field 'x', 'y'", "the fields id, name"),
        ({"name": "a"}, "id", "no such field among name", "a value, or None for null"),
        ({}, "id", "no such field among none", "a value, or None for null"),
        (Row(id=1), "name", "no such field among id", "a value, or None for null"),
        ({"id": 1}, "name", "no such field among id", "a value, or None for null"),
        (5, None, "int 5", "a tuple, list, dict or Row of id, name"),
        ("ab", None, "str 'ab'", "a tuple, list, dict or Row of id, name"),
        (None, None, "None", "a tuple, list, dict or Row of id, name"),
    ],
)
def test_a_record_of_the_wrong_shape(
    record: Any, column: str | None, found: str, needed: str
) -> None:
    error = refused([(7, "ok"), (8, None), record], TWO)
    assert (error.row_index, error.column) == (2, column)
    assert (error.found, error.needed) == (found, needed)
    assert error.row == repr(record)


def test_a_pyspark_row_with_a_field_twice() -> None:
    row = SparkRow((1, "a", "b"))
    row.__fields__ = ["id", "name", "name"]
    assert refused([row], TWO).found == "a field twice"


def test_long_records_are_cut() -> None:
    error = refused([("x" * 1000, "a")], TWO)
    assert len(error.row) == 200
    assert error.row.endswith("...")
    assert len(error.found) < 100


@pytest.mark.parametrize("null_first", [False, True])
def test_nested_mismatches_name_the_record_and_the_path(null_first: bool) -> None:
    inner = pa.struct([pa.field("n", pa.int32(), nullable=False)])
    kind = pa.struct([("parts", pa.list_(inner)), ("map", pa.map_(pa.string(), pa.int8()))])
    good = {"parts": [(1,), (2,)], "map": {"a": 1}}
    rows: list[Any] = [(None,) if null_first else ({"parts": None, "map": {}},), (good,), (good,)]
    bad_part = [*rows, ({"parts": [(1,), (None,)], "map": {}},), (good,)]
    error = refused(bad_part, one(kind))
    assert (error.row_index, error.column) == (3, "x.parts.item.n")
    bad_value = [*rows, ({"parts": [], "map": {"a": 1, "b": 300}},), (good,)]
    error = refused(bad_value, one(kind))
    assert (error.row_index, error.column) == (3, "x.map.value")
    bad_key = [*rows, ({"parts": [], "map": {None: 1}},)]
    error = refused(bad_key, one(kind))
    assert (error.row_index, error.column) == (3, "x.map.key")
    bad_struct = [*rows, ({"parts": [(1, 2)], "map": None},)]
    error = refused(bad_struct, one(kind))
    assert (error.row_index, error.column, error.found) == (3, "x.parts.item", "2 values")


@given(st.lists(st.none() | st.lists(st.integers(0, 3), max_size=3), max_size=8))
def test_the_record_of_a_bad_item_is_found_among_nulls_and_empty_lists(
    values: list[list[int] | None],
) -> None:
    bad = next((i for i, v in enumerate(values) if v and 0 in v), None)
    records = [(v if v is None else ["x" if n == 0 else n for n in v],) for v in values]
    if bad is None:
        columns_from_rows(records, one(pa.list_(pa.int64())))
    else:
        assert refused(records, one(pa.list_(pa.int64()))).row_index == bad


def test_mismatches_survive_pickling() -> None:
    error = refused([("a", "b")], TWO)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.row_index == 0


def test_schemas_that_no_batch_can_have() -> None:
    with pytest.raises(ValueError, match="no columns"):
        columns_from_rows([()], pa.schema([]))
    with pytest.raises(ValueError, match="a occur more than once"):
        columns_from_rows([(1, 2)], pa.schema([("a", pa.int64()), ("a", pa.int64())]))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd"])
def test_unknown_zones_are_named(zone: str) -> None:
    with pytest.raises(ValueError, match=f"unknown time zone '{zone}'"):
        columns_from_rows([(0,)], one(pa.timestamp("us", "UTC")), time_zone=zone)
