"""Batches of whatever Arrow types Spark's settings choose, in those that a plan was made with."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.values.codec import CorruptPayload, pack_payload, unpack_payload
from flinkish.common.errors import SchemaMismatchError
from flinkish.spark.map_in_arrow import ColumnCast

TEXT, BYTES = pa.string(), pa.binary()
OTHERS: list[tuple[pa.DataType, pa.DataType, Any]] = [
    (pa.large_string(), TEXT, "größer"),
    (pa.string_view(), TEXT, "a text that a view does not hold itself"),
    (pa.dictionary(pa.int8(), TEXT), TEXT, "one of few"),
    (pa.dictionary(pa.int8(), pa.large_string()), TEXT, "one of few"),
    (pa.large_binary(), BYTES, b"\x00\xff"),
    (pa.binary_view(), BYTES, b"\x00\xff" * 20),
    (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC"), 1_700_000_000_000_001),
    (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), 1_700_000_000_000),
    (pa.timestamp("ms"), pa.timestamp("us"), 1_700_000_000_000),
    (pa.decimal256(9, 2), pa.decimal128(9, 2), Decimal("-1.50")),
    (pa.list_(pa.large_string()), pa.list_(TEXT), ["a", None, "b"]),
    (pa.large_list(pa.large_string()), pa.list_(TEXT), ["a", None]),
    (pa.map_(pa.large_string(), pa.large_binary()), pa.map_(TEXT, BYTES), [("k", b"v")]),
    (
        pa.struct(
            [("s", pa.large_string()), ("l", pa.list_(pa.struct([("t", pa.large_binary())])))]
        ),
        pa.struct([("s", TEXT), ("l", pa.list_(pa.struct([("t", BYTES)])))]),
        {"s": "x", "l": [{"t": b"y"}]},
    ),
]


def cast_to(schema: pa.Schema) -> ColumnCast:
    return ColumnCast(schema.names, schema.types)


@pytest.mark.parametrize(("given", "wanted", "value"), OTHERS, ids=lambda one: str(one)[:40])
def test_values_stay_what_they_were(given: pa.DataType, wanted: pa.DataType, value: Any) -> None:
    plain = given.value_type if pa.types.is_dictionary(given) else given
    column = pa.array([None, value, value], plain)
    column = column.dictionary_encode() if plain != given else column
    batch = pa.record_batch([column, pa.array([1, 2, 3])], names=["v", "n"])
    schema = pa.schema([("v", wanted), ("n", pa.int64())])
    cast = cast_to(schema)
    for part in (batch, batch.slice(1)):
        found = cast(part)
        assert found.schema == schema
        found.validate(full=True)
        before = [one.value if pa.types.is_timestamp(given) else one.as_py() for one in part["v"]]
        after = [
            one.cast(given).value if pa.types.is_timestamp(given) else one.as_py()
            for one in found["v"]
        ]
        assert after == before
        # What a worker would have read before a payload said its schema.
        if "dictionary" not in str(given):
            with pytest.raises(CorruptPayload, match="were not packed by the schema"):
                unpack_payload(pack_payload(part), schema)
        assert unpack_payload(pack_payload(found), schema) == found


def test_batches_of_the_schema_go_through_as_they_are() -> None:
    batch = pa.record_batch({"v": ["a"], "n": [1]})
    cast = cast_to(batch.schema)
    assert cast(batch) is batch
    large = pa.record_batch([pa.array(["b"], pa.large_string()), [2]], names=["v", "n"])
    assert cast(large).to_pylist() == [{"v": "b", "n": 2}]
    assert cast(batch) is batch


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.int64(), pa.float64()),
        (pa.int64(), pa.int32()),
        (pa.decimal128(9, 2), pa.decimal128(9, 3)),
        (BYTES, TEXT),
        (pa.list_(pa.int64()), pa.list_(pa.int32())),
        (pa.map_(TEXT, BYTES), pa.map_(TEXT, TEXT)),
        (pa.struct([("a", TEXT)]), pa.struct([("b", TEXT)])),
        (pa.struct([("a", TEXT)]), pa.struct([("a", TEXT), ("b", TEXT)])),
        (pa.list_(TEXT), TEXT),
    ],
    ids=str,
)
def test_other_values_are_refused(given: pa.DataType, wanted: pa.DataType) -> None:
    cast = cast_to(pa.schema([("v", wanted)]))
    with pytest.raises(
        SchemaMismatchError, match=r"gave a worker the column 'v' as .*cast the col"
    ):
        cast(pa.record_batch([pa.nulls(2, given)], names=["v"]))


def test_what_may_be_null_is_no_difference() -> None:
    def parts(text: pa.DataType) -> pa.DataType:
        fields = [pa.field("a", text, nullable=False), pa.field("b", pa.list_(text))]
        return pa.struct(fields)

    values = [None, {"a": "x", "b": ["y", None]}]
    loose = pa.struct([("a", TEXT), ("b", pa.list_(TEXT))])
    cast = cast_to(pa.schema([("v", parts(TEXT))]))
    plain = pa.record_batch([pa.array(values, loose)], names=["v"])
    assert cast(plain) is plain
    large = pa.array(values, pa.struct([("a", pa.large_string()), ("b", pa.list_(TEXT))]))
    for column in (large, large.cast(pa.struct([("a", TEXT), ("b", pa.list_(pa.large_string()))]))):
        assert cast(pa.record_batch([column], names=["v"])).column("v").to_pylist() == values
    mapped = pa.map_(TEXT, pa.field("value", parts(pa.large_string()), nullable=False))
    cast = cast_to(pa.schema([("v", pa.map_(TEXT, pa.field("value", parts(TEXT), False)))]))
    found = cast(pa.record_batch([pa.array([[("k", values[1])]], mapped)], names=["v"]))
    assert found.column("v").to_pylist() == [[("k", values[1])]]


def test_columns_without_a_type_of_python_stay() -> None:
    cast = ColumnCast(["v", "n"], [None, TEXT])
    month = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    for texts in (pa.array(["a"]), pa.array(["a"], pa.large_string())):
        found = cast(pa.record_batch([month, texts], names=["v", "n"]))
        assert found.column("v").equals(month)
        assert found.schema.field("n").type == TEXT


def test_other_columns_are_refused() -> None:
    cast = cast_to(pa.schema([("v", TEXT), ("n", pa.int64())]))
    for columns in (["n", "v"], ["v"], ["v", "n", "more"]):
        batch = pa.record_batch([["a"]] * len(columns), names=columns)
        with pytest.raises(SchemaMismatchError, match="the plan has v, n"):
            cast(batch)


def test_a_time_that_the_type_cannot_hold_is_refused() -> None:
    cast = cast_to(pa.schema([("v", pa.timestamp("ns", "UTC"))]))
    column = pa.array([2**60], pa.timestamp("us", "UTC"))
    with pytest.raises(SchemaMismatchError, match=r"column 'v' came as .* and does not fit"):
        cast(pa.record_batch([column], names=["v"]))
