"""Key groups of columns: the same as of single keys, whatever the type and the layout."""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish._core.keys.key_groups import (
    MissingKeyError,
    assign_to_key_group,
    assign_to_key_groups,
    murmur,
)
from tests.models import key_groups as model

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BYTES = st.binary(max_size=20)
# Moments that both datetime and nanoseconds in 64 bits can hold.
MOMENTS = st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1))


WIDE = Context(prec=80)


def scaled(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    largest = 10**digits - 1
    return st.integers(-largest, largest).map(lambda n: Decimal(n).scaleb(-scale, WIDE))


# Arrow type -> (keys of that type, the key type that they have as single keys)
TYPES: dict[pa.DataType, tuple[st.SearchStrategy[Any], str]] = {
    pa.int8(): (st.integers(-(2**7), 2**7 - 1), "int"),
    pa.int16(): (st.integers(-(2**15), 2**15 - 1), "int"),
    pa.int32(): (st.integers(-(2**31), 2**31 - 1), "int"),
    pa.int64(): (LONGS, "long"),
    pa.uint8(): (st.integers(0, 2**8 - 1), "int"),
    pa.uint16(): (st.integers(0, 2**16 - 1), "int"),
    pa.uint32(): (st.integers(0, 2**32 - 1), "long"),
    pa.uint64(): (st.integers(0, 2**63 - 1), "long"),
    pa.bool_(): (st.booleans(), "bool"),
    pa.float32(): (st.floats(width=32), "float"),
    pa.float64(): (st.floats(), "double"),
    pa.string(): (TEXT, "str"),
    pa.large_string(): (TEXT, "str"),
    pa.string_view(): (TEXT, "str"),
    pa.binary(): (BYTES, "bytes"),
    pa.large_binary(): (BYTES, "bytes"),
    pa.binary_view(): (BYTES, "bytes"),
    pa.binary(3): (st.binary(min_size=3, max_size=3), "bytes"),
    pa.date32(): (st.dates(), "date"),
    pa.timestamp("s"): (MOMENTS.map(lambda t: t.replace(microsecond=0)), "timestamp"),
    pa.timestamp("ms"): (MOMENTS.map(lambda t: t.replace(microsecond=7000)), "timestamp"),
    pa.timestamp("us"): (MOMENTS, "timestamp"),
    pa.timestamp("ns"): (MOMENTS, "timestamp"),
    pa.timestamp("us", "UTC"): (MOMENTS, "timestamp"),
    pa.timestamp("us", "America/New_York"): (MOMENTS, "timestamp"),
    pa.decimal128(20, 3): (scaled(20, 3), "decimal"),
    pa.decimal256(60, 10): (scaled(60, 10), "decimal"),
}


def sliced(array: pa.Array) -> pa.Array:
    junk = pa.nulls(11, array.type)
    return pa.concat_arrays([junk, array, junk]).slice(11, len(array))


def chunked(array: pa.Array) -> pa.ChunkedArray:
    middle = len(array) // 2
    empty = array.slice(0, 0)
    return pa.chunked_array(
        [empty, array.slice(0, middle), sliced(array.slice(middle)), empty], array.type
    )


LAYOUTS: list[Callable[[pa.Array], Any]] = [
    lambda array: array,
    sliced,
    chunked,
    lambda array: pa.chunked_array([], array.type) if not len(array) else chunked(array),
    lambda array: sliced(array.dictionary_encode()),
    lambda array: pa.DictionaryArray.from_arrays(
        pa.array(range(len(array)), pa.uint16()), sliced(array)
    ),
]


def can_be_encoded(kind: pa.DataType) -> bool:
    return not (pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


@pytest.mark.parametrize("kind", TYPES, ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_columns_agree_with_single_keys(kind: pa.DataType, data: st.DataObject) -> None:
    keys, key_type = TYPES[kind]
    array = pa.array(data.draw(st.lists(st.none() | keys, max_size=40)), kind)
    max_parallelism = data.draw(st.integers(1, 32768))
    expected = [
        -1 if key is None else assign_to_key_group(key, max_parallelism, key_type)
        for key in array.to_pylist()
    ]
    assert expected == [
        -1 if key is None else model.key_group(key, key_type, max_parallelism)
        for key in array.to_pylist()
    ]
    for layout in LAYOUTS if can_be_encoded(kind) else LAYOUTS[:1]:
        found = assign_to_key_groups(layout(array), max_parallelism, nulls="mark")
        assert found.dtype == np.int32
        assert found.tolist() == expected


@given(st.data())
def test_several_columns_are_tuple_keys(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=4))
    size = data.draw(st.integers(0, 12))
    columns = [
        pa.array(data.draw(st.lists(st.none() | TYPES[k][0], min_size=size, max_size=size)), k)
        for k in kinds
    ]
    types = [TYPES[kind][1] for kind in kinds]
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    expected = [-1 if None in row else assign_to_key_group(row, 1000, types) for row in rows]
    shaped = [
        data.draw(st.sampled_from(LAYOUTS if can_be_encoded(kind) else LAYOUTS[:1]))(column)
        for kind, column in zip(kinds, columns, strict=True)
    ]
    assert assign_to_key_groups(shaped, 1000, nulls="mark").tolist() == expected
    names = [f"c{i}" for i in range(len(kinds))]
    table = pa.table(dict(zip(names, columns, strict=True)))
    assert assign_to_key_groups(table, 1000, nulls="mark").tolist() == expected
    batch = pa.record_batch(columns, names)
    assert assign_to_key_groups(batch, 1000, nulls="mark").tolist() == expected
    struct = pa.StructArray.from_arrays(columns, names)
    assert assign_to_key_groups(struct, 1000, nulls="mark").tolist() == expected
    if size:
        assert assign_to_key_groups(struct.slice(1), 1000, nulls="mark").tolist() == expected[1:]


def test_structs_nest() -> None:
    inner = pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}, {"x": -4, "y": "c"}])
    outer = pa.StructArray.from_arrays([pa.array([True] * 4), inner], ["flag", "inner"])
    expected = [
        assign_to_key_group((True, (x, y)), 128, ["bool", ["long", "str"]])
        for x, y in [(1, "a"), (-4, "c")]
    ]
    found = assign_to_key_groups(outer, 128, nulls="mark").tolist()
    assert found == [expected[0], -1, -1, expected[1]]


NUMPY_TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?"]


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_numpy_columns_are_arrow_columns(dtype: str, rng: np.random.Generator) -> None:
    array = rng.integers(0, 256, 1000).astype("u1").view("i1").astype(dtype)
    if dtype == "u8":
        array >>= np.uint64(1)
    expected = assign_to_key_groups(pa.array(array), 128)
    assert assign_to_key_groups(array, 128).tolist() == expected.tolist()
    assert assign_to_key_groups(array[::-2], 128).tolist() == expected[::-2].tolist()
    other_end = array.astype(array.dtype.newbyteorder())
    assert assign_to_key_groups(other_end, 128).tolist() == expected.tolist()
    array.flags.writeable = False
    assert assign_to_key_groups(array[3:], 128).tolist() == expected[3:].tolist()


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_numpy_times_are_arrow_times(unit: str, rng: np.random.Generator) -> None:
    array = rng.integers(-30_000, 30_000, 1000).astype(f"M8[{unit}]")
    array[[3, 17]] = "NaT"
    expected = assign_to_key_groups(pa.array(array), 128, nulls="mark")
    assert np.flatnonzero(expected == -1).tolist() == [3, 17]
    assert assign_to_key_groups(array, 128, nulls="mark").tolist() == expected.tolist()
    swapped = array.astype(array.dtype.newbyteorder())[::3]
    found = assign_to_key_groups(swapped, 128, nulls="mark")
    assert found.tolist() == expected[::3].tolist()
    with pytest.raises(MissingKeyError, match=r"column 0 has 2 nulls in 1000 rows, .* in row 3"):
        assign_to_key_groups(array, 128)


def test_masked_arrays_have_nulls() -> None:
    array = np.ma.MaskedArray([1, 2, 3], [False, True, False])
    found = assign_to_key_groups(array, 128, nulls="mark").tolist()
    assert found == [86, -1, 113]


def test_golden_key_groups() -> None:
    """B.20"""
    keys = [0, 1, 2, 3, 42, -1, 1000, 2**31 - 1, -(2**31)]
    groups = [94, 86, 127, 113, 29, 80, 7, 62, 108]
    assert assign_to_key_groups(pa.array(keys, pa.int32()), 128).tolist() == groups
    assert assign_to_key_groups(np.array(keys, "i4"), 128).tolist() == groups
    texts = pa.array(["", "a", "b", "key", "hello", "ciao"])
    assert assign_to_key_groups(texts, 128).tolist() == [94, 81, 22, 72, 35, 31]


def test_dates_beyond_those_of_python() -> None:
    """LocalDate of -0768-02-04 and +15659-07-15, from Java."""
    days = pa.array([-1_000_000, 5_000_000], pa.int32()).cast(pa.date32())
    expected = [murmur(code) % 30000 for code in (1570948, 32072143)]
    assert assign_to_key_groups(days, 30000).tolist() == expected


def test_nanoseconds_count() -> None:
    """Instant of 2024-02-29T12:34:56.789012345Z, from Java."""
    column = np.array(["2024-02-29T12:34:56.789012345"], "M8[ns]")
    assert assign_to_key_groups(column, 30000).tolist() == [murmur(-1000833269) % 30000]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_at_the_ends_of_64_bits(unit: str) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    moments = [-(2**63), 1 - 2**63, -1, 2**63 - 1]
    column = pa.array(moments, pa.timestamp(unit))
    codes = [
        model.signed(model.hash_long(t // per_second) + t % per_second * (51 * 10**9 // per_second))
        for t in moments
    ]
    expected = [murmur(code) % 128 for code in codes]
    assert assign_to_key_groups(column, 128).tolist() == expected


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(1, 32768))
def test_division_is_exact(codes: list[int], max_parallelism: int) -> None:
    found = assign_to_key_groups(np.array(codes, "i4"), max_parallelism)
    assert found.tolist() == [model.murmur(code) % max_parallelism for code in codes]


def test_key_types_override_integers_and_float32() -> None:
    longs = pa.array([-1, 5, -42])
    as_int = [assign_to_key_group(n, 128, "int") for n in (-1, 5, -42)]
    as_long = [assign_to_key_group(n, 128, "long") for n in (-1, 5, -42)]
    assert assign_to_key_groups(longs, 128).tolist() == as_long
    assert assign_to_key_groups(longs, 128, "int").tolist() == as_int
    assert assign_to_key_groups([longs.cast("int32")], 128, ["bigint"]).tolist() == as_long
    assert assign_to_key_groups(longs.dictionary_encode(), 128, "int").tolist() == as_int
    halves = pa.array([0.1, -0.0], pa.float32())
    wide = [assign_to_key_group(x, 128, "double") for x in halves.to_pylist()]
    assert assign_to_key_groups(halves, 128, "double").tolist() == wide


def test_nulls_in_dictionaries_are_nulls() -> None:
    column = pa.DictionaryArray.from_arrays([0, 1, None, 2, 1], pa.array(["a", None, "b"]))
    assert assign_to_key_groups(column, 128, nulls="mark").tolist() == [81, -1, -1, 22, -1]
    with pytest.raises(MissingKeyError) as caught:
        assign_to_key_groups(column, 128)
    assert (caught.value.column, caught.value.row, caught.value.count) == (0, 1, 3)


def test_nulls_are_named_and_counted() -> None:
    """B.21"""
    table = pa.table({"id": [1, 2, 3, 4], "device": ["a", None, "b", None]})
    with pytest.raises(MissingKeyError) as caught:
        assign_to_key_groups(table, 128)
    assert str(caught.value).startswith(
        "Assigned key must not be null! column 'device' has 2 nulls in 4 rows, the first in row 1"
    )
    assert (caught.value.column, caught.value.row, caught.value.count) == ("device", 1, 2)
    with pytest.raises(MissingKeyError, match="column 'x' has 1 null in 2 rows, the first in ro"):
        assign_to_key_groups(pa.array([None, 1]), 128, names=["x"])
    with pytest.raises(MissingKeyError, match="column 'x' has 3 nulls"):
        assign_to_key_groups(pa.nulls(3), 128, "long", names="x")
    assert assign_to_key_groups(pa.nulls(3), 128, nulls="mark").tolist() == [-1] * 3
    assert assign_to_key_groups(pa.nulls(0), 128).tolist() == []


def test_what_lies_under_a_null_does_not_matter() -> None:
    invalid = pa.py_buffer(b"\xff\xfe")
    offsets = pa.py_buffer(np.array([0, 1, 2], "i4"))
    none = pa.py_buffer(b"\0")
    text = pa.Array.from_buffers(pa.string(), 2, [none, offsets, invalid], null_count=2)
    wide = pa.array([2**40, 2**41], mask=np.array([True, True]))
    outside = pa.py_buffer(np.array([-5, 99], "i4"))
    indices = pa.Array.from_buffers(pa.int32(), 2, [none, outside], null_count=2)
    encoded = pa.DictionaryArray.from_arrays(indices, ["a"], safe=False)
    for column in (text, encoded):
        assert assign_to_key_groups(column, 128, nulls="mark").tolist() == [-1, -1]
    assert assign_to_key_groups(wide, 128, "int", nulls="mark").tolist() == [-1, -1]


def bad_text(*texts: bytes) -> pa.Array:
    offsets = np.cumsum([0, *map(len, texts)]).astype("i4")
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


@given(st.binary(max_size=12))
def test_utf8_is_checked_as_python_checks_it(text: bytes) -> None:
    column = bad_text(b"fine", text)
    try:
        key = text.decode()
    except UnicodeDecodeError:
        with pytest.raises(ValueError, match="column 0 has a string that is not UTF-8 in row 1"):
            assign_to_key_groups(column, 128)
    else:
        assert assign_to_key_groups(column, 128)[1] == assign_to_key_group(key, 128)


@pytest.mark.parametrize(
    "text", [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"abcd\xff"]
)
def test_ill_formed_utf8_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="not UTF-8 in row 1"):
        assign_to_key_groups(bad_text(b"", text), 128)
    with pytest.raises(ValueError, match="not UTF-8 in a value of its dictionary"):
        assign_to_key_groups(pa.DictionaryArray.from_arrays([0], bad_text(text)), 128)


@pytest.mark.parametrize(
    "column",
    [
        *[pa.array([[1]]), pa.array([1], pa.duration("s")), pa.array([1], pa.time32("s"))],
        *[pa.array([1.0], pa.float16()), pa.array([{"a": [1]}]), pa.int64(), pa.scalar(1)],
        *[np.array(["a"]), np.array([b"a"]), np.array([1], object), np.array([1], "m8[s]")],
        *[np.array([1], "M8[h]"), np.array([1], "M8[10s]"), np.array([1j]), np.array([1], "f2")],
    ],
    ids=lambda column: str(getattr(column, "dtype", getattr(column, "type", "type"))),
)
def test_columns_without_a_hash_are_refused(column: Any) -> None:
    with pytest.raises(TypeError, match=r"column 'k' is .*(allowed|neither an Arrow)"):
        assign_to_key_groups(column, 128, names=["k"])


@pytest.mark.parametrize(
    ("columns", "types", "error", "message"),
    [
        ([1, 2], None, TypeError, "column 0 is of type int, which is neither .*pyarrow.array"),
        ("abc", None, TypeError, "column 0 is of type str, which is neither"),
        ([], None, ValueError, "at least one"),
        (np.zeros((2, 2)), None, ValueError, r"column 0 has the shape \(2, 2\)"),
        ([pa.array([1]), pa.array([1, 2])], None, ValueError, r"different lengths: \[1, 2\]"),
        ([pa.array([1])], ["int", "int"], ValueError, r"1 column\(s\) came with 2 key type"),
        (pa.array([1]), "complex", ValueError, "unknown key type 'complex'"),
        (pa.array(["a"]), "int", TypeError, "column 0 is of type string, .*hashed as 'int'"),
        (pa.array([0.1]), "float", TypeError, "type double, .*cannot be hashed as 'float'"),
        (pa.array([1, 2**31]), "int", ValueError, r"in row 1 that does not fit .* int \(32"),
        (pa.array([1, -(2**31) - 1]), "int", ValueError, "in row 1 that does not fit"),
        (pa.array([1, 2**32 - 1], "uint32"), "int", ValueError, "in row 1 that does not fit"),
        (pa.array([1, 2**63], "uint64"), "int", ValueError, "in row 1 that does not fit"),
        (pa.array([1, 2**63], "uint64"), None, ValueError, r"does not fit .* long \(64 bits"),
        (pa.chunked_array([[1], [2, 2**40]]), "int", ValueError, "in row 2 that does not fit"),
    ],
)
def test_bad_columns_are_named(columns: Any, types: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        assign_to_key_groups(columns, 128, types)


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="nulls is 'drop', but must be 'error' or 'mark'"):
        assign_to_key_groups(pa.array([1]), 128, nulls="drop")
    with pytest.raises(ValueError, match="max_parallelism is 0"):
        assign_to_key_groups(pa.array([1]), 0)
    indices = pa.array([0, 7], pa.int8())
    broken = pa.DictionaryArray.from_arrays(indices, ["a"], safe=False)
    with pytest.raises(ValueError, match="dictionary index in row 1 that its dictionary does not"):
        assign_to_key_groups(broken, 128)


def test_every_struct_is_released_once() -> None:
    class Exported:
        """Hands out the same capsules every time, which a consumer empties."""

        def __init__(self, array: pa.Array) -> None:
            self.capsules = array.__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            return self.capsules

    def work() -> None:
        texts = pa.array(["some", "text", None] * 1000)
        for column in (texts, chunked(texts), texts.dictionary_encode()):
            assign_to_key_groups(column, 128, nulls="mark")
            with pytest.raises(MissingKeyError):
                assign_to_key_groups([column, column], 128)
        with pytest.raises(TypeError):
            assign_to_key_groups([texts, pa.array([[1]] * 3000)], 128)
        once = Exported(texts)
        assign_to_key_groups(once, 128, nulls="mark")
        with pytest.raises(ValueError, match="already consumed"):
            assign_to_key_groups(once, 128)

    gc.collect()
    before = pa.total_allocated_bytes()
    work()
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_a_failing_stream_is_reported() -> None:
    def batches() -> Any:
        yield pa.record_batch({"k": [1]})
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"k": pa.int64()}), batches())
    with pytest.raises(ValueError, match=r"column 'k' could not be read .*the disk is gone"):
        assign_to_key_groups([reader], 128, names=["k"])


def test_threads_share_columns(rng: np.random.Generator) -> None:
    columns = [pa.array(rng.integers(0, 9999, 20_000).astype(str)), rng.random(20_000)]
    expected = assign_to_key_groups(columns, 128)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: assign_to_key_groups(columns, 128), range(40)):
            assert (found == expected).all()
