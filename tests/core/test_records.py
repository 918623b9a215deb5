"""Arrow columns as Python values and records, event times as milliseconds."""

import gc
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish._core.columns.records import RecordReader, timestamps_ms
from flinkish._core.values.codec import pack_groups, unpack_payload
from flinkish._core.values.row import Row

EPOCH = datetime(1970, 1, 1)
UTC = timezone.utc


def values_of(array: pa.Array, start: int = 0, stop: int | None = None) -> list[Any]:
    return RecordReader([array], ["c"]).values("c", start, stop)


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ZONED = st.datetimes(timezones=st.just(UTC))
DECIMALS = st.decimals(-(10**26), 10**26, places=4, allow_nan=False)

# Arrow type, Python values that the column holds exactly.
COLUMNS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    *[(kind, signed(kind.bit_width)) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())],
    *[
        (kind, st.integers(0, 2**kind.bit_width - 1))
        for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    ],
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXT),
    (pa.large_string(), TEXT),
    (pa.binary(), st.binary(max_size=12)),
    (pa.large_binary(), st.binary(max_size=12)),
    (pa.date32(), st.dates()),
    (pa.timestamp("s"), st.datetimes().map(lambda t: t.replace(microsecond=0))),
    (
        pa.timestamp("ms"),
        st.datetimes().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    ),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("us", "UTC"), ZONED),
    (pa.timestamp("us", "Europe/Berlin"), ZONED),
    (pa.timestamp("ns"), st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1))),
    (pa.decimal128(38, 4), DECIMALS),
    (pa.null(), st.none()),
    (pa.duration("us"), st.timedeltas(timedelta(-1000), timedelta(1000))),
    (pa.list_(pa.int32()), st.lists(signed(32), max_size=3)),
    (pa.large_list(pa.string()), st.lists(TEXT, max_size=3)),
    (pa.list_(pa.int8(), 2), st.lists(signed(8), min_size=2, max_size=2)),
    (pa.map_(pa.string(), pa.int64()), st.dictionaries(TEXT, st.none() | signed(64), max_size=3)),
    (
        pa.struct([("a", pa.int64()), ("b", pa.list_(pa.timestamp("us", "UTC")))]),
        st.builds(
            lambda a, b: {"a": a, "b": b}, st.none() | signed(64), st.none() | st.lists(ZONED)
        ),
    ),
    (pa.dictionary(pa.int8(), pa.string()), TEXT),
]


def plain(value: Any) -> Any:
    """Rows as dicts, for comparing with what went in."""
    return value.as_dict() if isinstance(value, Row) else value


@pytest.mark.parametrize(("kind", "values"), COLUMNS, ids=[str(kind) for kind, _ in COLUMNS])
@settings(max_examples=30)
@given(data=st.data())
def test_columns_give_back_their_values(
    kind: pa.DataType, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    column = data.draw(st.lists(st.none() | values, max_size=20))
    begin = data.draw(st.integers(0, len(column)))
    end = data.draw(st.integers(begin, len(column)))
    array = pa.array([dict_pairs(kind, value) for value in column], kind)
    array.validate(full=True)
    found = values_of(array)
    assert [plain(value) for value in found] == column
    assert [type(value) for value in values_of(array.slice(begin, end - begin))] == [
        type(value) for value in found[begin:end]
    ]
    assert values_of(array.slice(begin, end - begin)) == found[begin:end]
    assert values_of(array, begin, end) == found[begin:end]


def dict_pairs(kind: pa.DataType, value: Any) -> Any:
    """What pyarrow wants for a map."""
    return list(value.items()) if pa.types.is_map(kind) and value is not None else value


def test_scalars_have_pythons_own_types() -> None:
    reader = RecordReader(
        pa.record_batch(
            {
                "int": pa.array([1], pa.int32()),
                "float": pa.array([1.5], pa.float32()),
                "bool": pa.array([True]),
                "at": pa.array([0], pa.timestamp("us", "Asia/Tokyo")),
                "wall": pa.array([0], pa.timestamp("us")),
                "price": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
            }
        )
    )
    [row] = reader.tuples()
    assert [type(value) for value in row] == [int, float, bool, datetime, datetime, Decimal]
    assert row[3].tzinfo is UTC
    assert row[4].tzinfo is None
    assert str(row[5]) == "1.50"


@pytest.mark.parametrize("digits", [0, 5, -5, 2**63 - 1, -(2**63), 2**63, 10**37, -(10**37)])
@pytest.mark.parametrize("scale", [0, 3, -2])
def test_decimals_are_exact(digits: int, scale: int) -> None:
    raw = digits.to_bytes(16, "little", signed=True)
    array = pa.Array.from_buffers(pa.decimal128(38, scale), 1, [None, pa.py_buffer(raw)])
    [value] = values_of(array)
    assert value == Decimal(digits).scaleb(-scale, context=None) or abs(digits) > 10**27
    assert value.as_tuple().exponent == -scale
    assert int("".join(map(str, value.as_tuple().digits))) == abs(digits)


@pytest.mark.parametrize(
    "at",
    [
        datetime.min,
        datetime.max,
        EPOCH,
        EPOCH - timedelta(microseconds=1),
        datetime(1900, 2, 28, 23, 59, 59, 999999),
        datetime(1900, 3, 1),
        datetime(2000, 2, 29),
        datetime(2100, 12, 31),
    ],
)
def test_calendar_edges(at: datetime) -> None:
    assert values_of(pa.array([at], pa.timestamp("us"))) == [at]
    assert values_of(pa.array([at.date()], pa.date32())) == [at.date()]


def test_every_day_of_eight_centuries() -> None:
    days = list(range(date(1599, 12, 31).toordinal(), date(2401, 1, 2).toordinal()))
    array = pa.array(np.array(days, dtype=np.int32) - EPOCH.toordinal()).cast(pa.date32())
    assert [day.toordinal() for day in values_of(array)] == days


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("value", [-(2**60), 2**60])
def test_times_that_datetime_cannot_hold_are_refused(unit: str, value: int) -> None:
    array = pa.array([0, value], pa.timestamp(unit))
    with pytest.raises(ValueError, match=f"row 1: {value} .*years 1 to 9999"):
        values_of(array)


def test_dates_that_python_cannot_hold_are_refused() -> None:
    array = pa.array(np.array([2932897, -719163], dtype=np.int32)).cast(pa.date32())
    with pytest.raises(ValueError, match="row 0: day 2932897"):
        values_of(array)
    with pytest.raises(ValueError, match="row 0: day -719163"):
        values_of(array.slice(1))


def test_nanoseconds_are_not_cut_silently() -> None:
    assert values_of(pa.array([-1000], pa.timestamp("ns"))) == [EPOCH - timedelta(microseconds=1)]
    with pytest.raises(ValueError, match=r"row 0: 1001 ns .*cast the column to timestamp\('us'\)"):
        values_of(pa.array([1001], pa.timestamp("ns")))


def test_text_that_is_not_utf8_is_refused() -> None:
    array = pa.array([b"ok", b"\xff"]).view(pa.string())
    assert values_of(array, 0, 1) == ["ok"]
    with pytest.raises(UnicodeDecodeError):
        values_of(array)


def test_structs_are_rows_with_names_at_any_depth() -> None:
    inner = pa.struct([("x", pa.int64()), ("y", pa.string())])
    array = pa.array(
        [{"one": {"x": 1, "y": "a"}, "many": [{"x": 2, "y": None}, None]}, None],
        pa.struct([("one", inner), ("many", pa.list_(inner))]),
    )
    [value, nothing] = values_of(array)
    assert isinstance(value, Row)
    assert value.one.y == "a"
    assert value == Row(one=Row(x=1, y="a"), many=[Row(x=2, y=None), None])
    assert nothing is None


def test_structs_without_fields_and_extension_types() -> None:
    assert values_of(pa.array([{}, {}], pa.struct([]))) == [(), ()]
    some = uuid.UUID(int=5)
    storage = pa.array([some.bytes, None], pa.binary(16))
    assert values_of(pa.ExtensionArray.from_storage(pa.uuid(), storage)) == [some, None]


# ---------------------------------------------------------------- records


BATCH = pa.record_batch(
    {
        "key": pa.array([f"k{i}" for i in range(1300)]),
        "n": pa.array([None if i % 7 == 0 else i for i in range(1300)], pa.int32()),
        "tags": pa.array([[i] for i in range(1300)]),
    }
)


def test_records_across_blocks() -> None:
    reader = RecordReader(BATCH)
    wanted = [(f"k{i}", None if i % 7 == 0 else i, [i]) for i in range(1300)]
    assert reader.names == ("key", "n", "tags")
    assert (reader.num_rows, len(reader)) == (1300, 1300)
    assert reader.tuples() == wanted
    assert reader.tuples(500, 1100) == wanted[500:1100]
    assert reader.tuples(-3) == wanted[-3:]
    assert reader.tuples(1200, 9999) == wanted[1200:]
    assert reader.tuples(9, 3) == reader.rows(9, 3) == reader.values(0, 9, 3) == []
    rows = reader.rows()
    assert [tuple(row) for row in rows] == wanted
    assert rows[8].key == rows[8]["key"] == rows[8][0] == "k8"
    assert rows[0].get_field_names() is rows[1299].get_field_names()


def test_a_reader_of_a_slice_sees_the_slice() -> None:
    reader = RecordReader(BATCH.slice(600, 3))
    assert [row[0] for row in reader.tuples()] == ["k600", "k601", "k602"]
    assert reader.rows(1)[0].n == 601


def test_a_list_of_arrays_is_named_by_the_caller() -> None:
    reader = RecordReader([pa.array([1, 2]), pa.array(["a", "b"])], ("n", "s"))
    assert reader.rows() == [Row(n=1, s="a"), Row(n=2, s="b")]
    assert reader.values("s") == reader.values(1) == ["a", "b"]
    assert RecordReader([], ()).tuples() == []


def test_rows_may_be_changed_one_by_one() -> None:
    first, second = RecordReader(BATCH.slice(0, 2).select(["key", "n"])).rows()
    first.key = "other"
    assert (first.key, second.key) == ("other", "k1")


def test_what_a_reader_is_not_made_from() -> None:
    with pytest.raises(TypeError, match="needs the names"):
        RecordReader([pa.array([1])])
    with pytest.raises(ValueError, match="1 columns and 2 names"):
        RecordReader([pa.array([1])], ("a", "b"))
    with pytest.raises(ValueError, match="'b' has 2 rows, the first column has 1"):
        RecordReader([pa.array([1]), pa.array([1, 2])], ("a", "b"))
    with pytest.raises(TypeError, match=r"found ChunkedArray; call combine_chunks\(\) first"):
        RecordReader([pa.chunked_array([[1], [2]])], ("a",))
    with pytest.raises(TypeError, match="must be one Arrow array, found list"):
        RecordReader([[1, 2]], ("a",))


@pytest.mark.parametrize("column", ["m", 3, -1])
def test_unknown_columns_are_named_with_those_there_are(column: int | str) -> None:
    with pytest.raises(KeyError, match="there are 'key', 'n', 'tags'"):
        RecordReader(BATCH).values(column)


def test_names_that_a_row_cannot_have() -> None:
    reader = RecordReader([pa.array([1]), pa.array([2])], ("a", "a"))
    assert reader.tuples() == [(1, 2)]
    with pytest.raises(ValueError, match="a occur more than once"):
        reader.rows()


@pytest.mark.parametrize("shift", range(1, 8))
def test_buffers_at_odd_addresses(shift: int) -> None:
    batch = pa.record_batch(
        {
            "n": pa.array([1, None, -3]),
            "x": pa.array([0.5, 1.5, None]),
            "at": pa.array([1, 2, 3], pa.timestamp("us")),
            "d": pa.array([Decimal("1.5"), None, Decimal("-2.5")], pa.decimal128(9, 1)),
            "s": pa.array(["a", "", "ccc"]),
        }
    )
    [(_, payload, _)] = pack_groups(batch, np.zeros(3, dtype=np.int32), 1)
    odd = memoryview(bytes(shift) + payload)[shift:]
    shifted = unpack_payload(odd, batch.schema)
    assert RecordReader(shifted).tuples() == RecordReader(batch).tuples()
    assert timestamps_ms(shifted.column("at")).tolist() == [0, 0, 0]


def test_records_outlive_their_reader_and_columns_live_as_long_as_it() -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    reader = RecordReader([pa.array(list(range(100_000)))], ("n",))
    gc.collect()
    assert pa.total_allocated_bytes() >= before + 800_000
    rows = reader.rows()
    del reader
    assert rows[99_999].n == 99_999
    gc.collect()
    assert pa.total_allocated_bytes() < before + 800_000


# ---------------------------------------------------------------- timestamps_ms


NO_TIME = -(2**63)
RANGES: list[tuple[pa.DataType, Callable[[int], int], int]] = [
    (pa.timestamp("s"), lambda v: v * 1000, 63 - 10),
    (pa.timestamp("ms", "UTC"), lambda v: v, 63),
    (pa.timestamp("us", "UTC"), lambda v: v // 1000, 63),
    (pa.timestamp("ns"), lambda v: v // 1_000_000, 63),
    (pa.date32(), lambda v: v * 86_400_000, 31),
    (pa.int64(), lambda v: v, 63),
    (pa.int32(), lambda v: v, 31),
    (pa.int16(), lambda v: v, 15),
    (pa.int8(), lambda v: v, 7),
]


@pytest.mark.parametrize(("kind", "model", "bits"), RANGES, ids=[str(kind) for kind, *_ in RANGES])
@settings(max_examples=30)
@given(data=st.data())
def test_event_times_are_floored_milliseconds(
    kind: pa.DataType, model: Callable[[int], int], bits: int, data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.none() | st.integers(-(2**bits), 2**bits - 1), max_size=20))
    cut = data.draw(st.integers(0, len(values)))
    storage = pa.int32() if pa.types.is_date(kind) else pa.int64()
    array = pa.array(values, kind if pa.types.is_integer(kind) else storage).cast(kind)
    found = timestamps_ms(array.slice(cut), null_value=NO_TIME)
    assert found.dtype == np.int64
    assert found.tolist() == [NO_TIME if v is None else model(v) for v in values[cut:]]


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()])
def test_unsigned_event_times(kind: pa.DataType) -> None:
    assert timestamps_ms(pa.array([0, 255], kind)).tolist() == [0, 255]


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("us"), pa.date32()])
def test_a_null_event_time_is_an_error_unless_it_has_a_stand_in(kind: pa.DataType) -> None:
    array = pa.array([1, None], pa.int32()).cast(pa.int64() if kind != pa.date32() else pa.int32())
    with pytest.raises(ValueError, match=r"row 1 has no event time \(null\)"):
        timestamps_ms(array.cast(kind))
    assert timestamps_ms(array.cast(kind), null_value=7)[1] == 7


@pytest.mark.parametrize(
    ("kind", "value"),
    [(pa.timestamp("s"), 2**60), (pa.timestamp("s"), -(2**60)), (pa.uint64(), 2**63)],
)
def test_event_times_past_64_bits_are_refused(kind: pa.DataType, value: int) -> None:
    with pytest.raises(ValueError, match=f"row 1: event time {value} of type .*does not fit"):
        timestamps_ms(pa.array([0, value], kind))


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.bool_(), pa.time64("us")])
def test_columns_that_are_no_time_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match=r"must be a timestamp, date or integer.*found"):
        timestamps_ms(pa.nulls(2, kind))
