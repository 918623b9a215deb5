"""Rows by group, payloads of key groups, frames of state bytes."""

import random
import struct
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.values.codec import (
    CorruptFrame,
    CorruptPayload,
    FrameHeader,
    NewerFrame,
    frame_header,
    group_rows,
    pack_groups,
    pack_payload,
    seal,
    unpack_payload,
    unseal,
)

GROUP_TYPES: list[Any] = [np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64]


# ---------------------------------------------------------------- group_rows


@given(st.lists(st.integers(-1, 6), max_size=60), st.sampled_from([np.int16, np.int32, np.int64]))
def test_rows_are_sorted_by_group_and_keep_their_order(groups: list[int], dtype: Any) -> None:
    order, offsets, skipped = group_rows(np.array(groups, dtype=dtype), 7)
    model = [[row for row, g in enumerate(groups) if g == group] for group in range(7)]
    assert [order[offsets[g] : offsets[g + 1]].tolist() for g in range(7)] == model
    assert offsets[0] == 0
    assert offsets[7] == len(order)
    assert skipped == groups.count(-1)
    assert (order.dtype.name, offsets.dtype.name) == ("uint32", "int64")


@pytest.mark.parametrize("dtype", GROUP_TYPES)
def test_all_widths_of_groups_are_read(dtype: Any) -> None:
    order, offsets, skipped = group_rows(np.array([2, 0, 2, 1], dtype=dtype), 3)
    assert order.tolist() == [1, 3, 0, 2]
    assert offsets.tolist() == [0, 1, 2, 4]
    assert skipped == 0


def test_an_arrow_column_of_groups_is_a_buffer_too() -> None:
    order, _, _ = group_rows(memoryview(b"\x01\x00"), 2)
    assert order.tolist() == [1, 0]


@pytest.mark.parametrize("bad", [-2, 3, 2**31 - 1])
def test_a_group_out_of_range_names_its_row(bad: int) -> None:
    with pytest.raises(ValueError, match=f"row 1 has group {bad}; groups must be from 0 to 2"):
        group_rows(np.array([0, bad], dtype=np.int32), 3)


def test_unsigned_groups_have_no_null() -> None:
    with pytest.raises(ValueError, match="row 0 has group 65535"):
        group_rows(np.array([65535], dtype=np.uint16), 3)


@pytest.mark.parametrize("number", [0, -1, 2**24 + 1])
def test_number_of_groups_is_bounded(number: int) -> None:
    with pytest.raises(ValueError, match="number of groups must be from 1 to"):
        group_rows(np.zeros(1, dtype=np.int32), number)


def test_other_buffers_are_refused() -> None:
    floats: Any = np.zeros(2)
    with pytest.raises(TypeError, match="format 'd'"):
        group_rows(floats, 3)
    with pytest.raises(ValueError, match="2 dimensions"):
        group_rows(np.zeros((2, 2), dtype=np.int32), 3)
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        group_rows(np.zeros(8, dtype=np.int32)[::2], 3)


# ---------------------------------------------------------------- payloads


def sample_batch(rows: int) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "id": pa.array([None if i % 5 == 0 else i for i in range(rows)], pa.int64()),
            "name": pa.array([f"n{i}" * (i % 4) for i in range(rows)]),
            "at": pa.array(range(rows), pa.timestamp("us", "UTC")),
            "tags": pa.array([["x"] * (i % 3) for i in range(rows)]),
        }
    )


@pytest.mark.parametrize("as_table", [False, True])
def test_payloads_hold_each_groups_rows_in_order(as_table: bool, rng: np.random.Generator) -> None:
    batch = sample_batch(200)
    groups = rng.integers(-1, 9, 200).astype(np.int32)
    groups[groups == 4] = 5
    source = pa.Table.from_batches([batch.slice(0, 70), batch.slice(70)]) if as_table else batch
    packed = pack_groups(source, groups, 9)
    assert [group for group, _, _ in packed] == [0, 1, 2, 3, 5, 6, 7, 8]
    for group, payload, rows in packed:
        assert type(payload) is bytes
        wanted = batch.take(pa.array(np.flatnonzero(groups == group)))
        assert rows == wanted.num_rows
        assert unpack_payload(payload, batch.schema) == wanted
    assert sum(rows for _, _, rows in packed) == 200 - (groups == -1).sum()


def test_a_sliced_batch_packs_only_its_rows() -> None:
    part = sample_batch(20).slice(7, 5)
    [(group, payload, rows)] = pack_groups(part, np.zeros(5, dtype=np.uint16), 1)
    assert (group, rows) == (0, 5)
    assert unpack_payload(memoryview(payload), part.schema) == part


def test_no_rows_make_no_payloads() -> None:
    batch = sample_batch(3)
    assert pack_groups(batch.slice(0, 0), np.zeros(0, dtype=np.int32), 4) == []
    assert pack_groups(batch, np.full(3, -1, dtype=np.int32), 4) == []
    table = pa.Table.from_batches([], batch.schema)
    assert pack_groups(table, np.zeros(0, dtype=np.int32), 4) == []


def test_a_payload_costs_little_besides_its_data() -> None:
    batch = pa.record_batch({"a": pa.array([1]), "b": pa.array([2.0]), "c": pa.array([3])})
    [(_, payload, _)] = pack_groups(batch, np.zeros(1, dtype=np.int32), 1)
    assert len(payload) < 24 + 350


def test_groups_must_be_one_a_row() -> None:
    with pytest.raises(ValueError, match="found 2 groups for 3 rows"):
        pack_groups(sample_batch(3), np.zeros(2, dtype=np.int32), 1)


def test_dictionaries_are_refused_with_the_remedy() -> None:
    batch = pa.record_batch({"d": pa.array(["a", "b"]).dictionary_encode()})
    with pytest.raises(ValueError, match=r"'d' is dictionary-encoded.*cast it to string"):
        pack_groups(batch, np.zeros(2, dtype=np.int32), 1)


def test_truncated_payloads_are_refused() -> None:
    batch = sample_batch(3)
    [(_, payload, _)] = pack_groups(batch, np.zeros(3, dtype=np.int32), 1)
    for size in range(0, len(payload) - 8, 7):
        with pytest.raises(CorruptPayload, match=rf"{size} bytes .*\(id int64"):
            unpack_payload(payload[:size], batch.schema)


def test_a_payload_of_another_schema_is_refused() -> None:
    batch = sample_batch(3).select(["id", "name"])
    [(_, payload, _)] = pack_groups(batch, np.zeros(3, dtype=np.int32), 1)
    wide = pa.schema([batch.schema.field("id"), ("name", pa.large_string())])
    for schema in (
        pa.schema([("id", pa.string()), ("name", pa.int64())]),
        # These have the same layout, or one that Arrow takes for it.
        pa.schema([("name", pa.int64()), batch.schema.field("name")]),
        pa.schema([("id", pa.float64()), batch.schema.field("name")]),
        wide,
    ):
        with pytest.raises(CorruptPayload, match="were not packed by the schema"):
            unpack_payload(payload, schema)
    [(_, payload, _)] = pack_groups(batch.cast(wide), np.zeros(3, dtype=np.int32), 1)
    assert unpack_payload(payload, wide) == batch.cast(wide)
    with pytest.raises(CorruptPayload, match="were not packed by the schema"):
        unpack_payload(payload, batch.schema)
    with pytest.raises(CorruptPayload):
        unpack_payload(b"not arrow at all, whatever it is", batch.schema)


def test_what_may_be_null_is_not_part_of_a_payloads_schema() -> None:
    parts = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    batch = pa.record_batch([pa.array([{"a": 1}], parts)], names=["s"])
    loose = pa.schema([pa.field("s", pa.struct([("a", pa.int32())]), nullable=False)])
    assert unpack_payload(pack_payload(batch), loose).to_pylist() == [{"s": {"a": 1}}]


def test_many_schemas_stay_apart() -> None:
    """More than are remembered, and some whose memory may be that of one before."""
    for number in range(60):
        batch = pa.record_batch({f"c{number}": [number]})
        payload = pack_payload(batch)
        for schema in (batch.schema, pa.schema([(f"c{number}", pa.int64())])):
            assert unpack_payload(payload, schema) == batch
        with pytest.raises(CorruptPayload):
            unpack_payload(payload, pa.schema([(f"c{number + 1}", pa.int64())]))


def test_damaged_payloads_never_give_unreadable_columns() -> None:
    """Arrow sums no bytes, so damage may pass; but what comes out can be read to the end."""
    batch = sample_batch(9)
    [(_, payload, _)] = pack_groups(batch, np.zeros(9, dtype=np.int32), 1)
    chance = random.Random(7)
    for _ in range(400):
        damaged = bytearray(payload)
        damaged[chance.randrange(len(payload))] ^= 1 << chance.randrange(8)
        try:
            got = unpack_payload(bytes(damaged), batch.schema)
        except CorruptPayload:
            continue
        got.column("name").to_pylist()
        got.column("tags").to_pylist()


# ---------------------------------------------------------------- frames


PAYLOADS = [b"", b"x", b"state of a key group " * 3, b"again and again " * 100, bytes(5000)]


@pytest.mark.parametrize("payload", PAYLOADS, ids=len)
@pytest.mark.parametrize("compress", [True, False])
def test_frames_give_back_what_was_sealed(payload: bytes, compress: bool) -> None:
    blob = seal(3, 7, 12, payload, compress=compress)
    assert bytes(unseal(blob, 3, 12)) == payload
    assert bytes(unseal(memoryview(blob), 3, 12, version=7)) == payload
    squeezed = compress and len(payload) >= 512
    assert frame_header(blob) == FrameHeader(3, 7, 12, len(payload), squeezed)
    assert (len(blob) < len(payload) + 32) == squeezed


def test_any_contiguous_buffer_is_sealed() -> None:
    numbers = np.arange(100, dtype=np.int64)
    assert bytes(unseal(seal(1, 1, 0, numbers), 1, 0)) == numbers.tobytes()
    assert bytes(unseal(seal(1, 1, 0, bytearray(b"abc")), 1, 0)) == b"abc"
    assert bytes(unseal(seal(1, 1, 0, pa.py_buffer(b"abc")), 1, 0)) == b"abc"


def test_contents_are_read_only_and_lie_in_the_frame() -> None:
    blob = bytearray(seal(1, 1, 0, b"abc"))
    view = unseal(blob, 1, 0)
    assert view.readonly
    blob[32] = ord("z")
    assert bytes(view) == b"zbc"


def test_contents_that_do_not_shrink_stay_as_they_are(rng: np.random.Generator) -> None:
    noise = rng.bytes(4000)
    blob = seal(1, 1, 0, noise)
    assert not frame_header(blob).compressed
    assert len(blob) == 4032


def test_the_layout_is_as_documented() -> None:
    blob = seal(0x0102, 0x0304, 0x05060708, b"abc")
    assert blob[:24] == struct.pack("<4sHHHHIQ", b"FLKS", 1, 0x0102, 0x0304, 0, 0x05060708, 3)
    assert blob[24:32] == struct.pack("<II", zlib.crc32(blob[:24]), zlib.crc32(b"abc"))
    assert blob[32:] == b"abc"


@pytest.mark.parametrize("payload", [b"twelve bytes", b"again and again " * 40])
def test_every_flipped_bit_is_noticed(payload: bytes) -> None:
    blob = seal(3, 7, 12, payload)
    for place in range(len(blob)):
        for bit in range(8):
            damaged = bytearray(blob)
            damaged[place] ^= 1 << bit
            with pytest.raises(CorruptFrame):
                unseal(damaged, 3, 12)


@pytest.mark.parametrize("payload", [b"", b"twelve bytes", b"again and again " * 40])
def test_every_truncation_and_extension_is_noticed(payload: bytes) -> None:
    blob = seal(3, 7, 12, payload)
    for size in range(len(blob)):
        with pytest.raises(CorruptFrame):
            unseal(blob[:size], 3, 12)
    with pytest.raises(CorruptFrame):
        unseal(blob + b"\0", 3, 12)


@given(st.binary(max_size=80))
def test_foreign_bytes_are_refused(blob: bytes) -> None:
    with pytest.raises(CorruptFrame) as caught:
        unseal(blob, 1, 0)
    assert caught.value.reason in ("size", "magic", "header checksum")


@given(st.binary(max_size=300), st.data())
def test_any_damage_is_refused(payload: bytes, data: st.DataObject) -> None:
    blob = bytearray(seal(1, 1, 9, payload))
    begin = data.draw(st.integers(0, len(blob)))
    end = data.draw(st.integers(begin, len(blob)))
    patch = data.draw(st.binary(max_size=20))
    if bytes(blob[begin:end]) == patch:
        return
    blob[begin:end] = patch
    with pytest.raises(CorruptFrame):
        unseal(blob, 1, 9)


def reseal(blob: bytes, **changes: int | bytes) -> bytes:
    """A frame with other header fields and good checksums."""
    names = ["magic", "layout", "kind", "version", "flags", "key_group", "size"]
    fields = dict(zip(names, struct.unpack_from("<4sHHHHIQ", blob), strict=True)) | changes
    header = struct.pack("<4sHHHHIQ", *fields.values())
    return header + struct.pack("<II", zlib.crc32(header), zlib.crc32(blob[32:])) + blob[32:]


@pytest.mark.parametrize(
    ("changes", "reason", "found", "needed"),
    [
        ({"magic": b"FLKT"}, "magic", "b'FLKT'", "b'FLKS'"),
        ({"layout": 0}, "layout", "0", "1"),
        ({"kind": 4}, "kind", "4", "3"),
        ({"key_group": 13}, "key group", "13", "12"),
        ({"size": 4}, "body", "3 bytes", "4 bytes"),
    ],
)
def test_foreign_frames_are_named(
    changes: dict[str, int | bytes], reason: str, found: str, needed: str
) -> None:
    blob = reseal(seal(3, 7, 12, b"abc"), **changes)
    with pytest.raises(CorruptFrame) as caught:
        unseal(blob, 3, 12, version=7)
    error = caught.value
    assert (error.reason, error.found, error.needed) == (reason, found, needed)
    text = str(error)
    assert f"state bytes refused, {reason}: found {found}, needed {needed}" in text
    for part in ("magic", "layout", "version", "key group", "header checksum", "body checksum"):
        assert part in text


@pytest.mark.parametrize(
    ("changes", "newest"), [({"layout": 2}, 1), ({"flags": 2}, 1), ({"version": 8}, 7)]
)
def test_a_newer_frame_is_not_called_damaged(changes: dict[str, int], newest: int) -> None:
    ((what, found),) = changes.items()
    blob = reseal(seal(3, 7, 12, b"abc"), **changes)
    with pytest.raises(NewerFrame, match="whole, and a later version wrote them") as caught:
        unseal(blob, 3, 12, version=7)
    error = caught.value
    assert not isinstance(error, CorruptFrame)
    assert (error.what, error.found, error.newest) == (what, found, newest)
    if what == "version":
        assert error.contents is not None
        assert bytes(error.contents) == b"abc"
        with pytest.raises(CorruptFrame):
            unseal(blob[:-1] + b"d", 3, 12, version=7)  # damage is damage, however new


def test_older_versions_are_read() -> None:
    assert bytes(unseal(seal(3, 6, 12, b"abc"), 3, 12, version=7)) == b"abc"


def test_a_wrong_checksum_is_shown_beside_the_computed_one() -> None:
    blob = bytearray(seal(3, 7, 12, b"abc"))
    blob[33] = ord("B")
    with pytest.raises(CorruptFrame) as caught:
        unseal(blob, 3, 12)
    assert caught.value.found == f"{zlib.crc32(b'abc'):#010x}"
    assert caught.value.needed.startswith(f"{zlib.crc32(b'aBc'):#010x} as computed")


def test_a_body_that_is_not_zstd_is_refused() -> None:
    blob = reseal(seal(3, 7, 12, b"abc"), flags=1)
    with pytest.raises(CorruptFrame, match="zstd refuses") as caught:
        unseal(blob, 3, 12)
    assert caught.value.reason == "body"


@pytest.mark.parametrize(
    ("kind", "version", "key_group"), [(-1, 1, 0), (1, 65536, 0), (1, 1, 2**32), (1, 1, -1)]
)
def test_numbers_that_do_not_fit_the_header_are_refused(
    kind: int, version: int, key_group: int
) -> None:
    with pytest.raises(ValueError, match="a frame cannot carry kind"):
        seal(kind, version, key_group, b"")
