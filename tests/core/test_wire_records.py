"""Records of the wire: nothing but what the other end said, as it said it, comes out of them."""

import itertools
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.rpc.framing import (
    RECORD_OVERHEAD,
    RECORD_PAYLOAD,
    FrameCutter,
    FrameKind,
    FrameSink,
    RecordOpener,
    RecordSealer,
    lanes,
    pack_frame,
    siphash,
)
from tests.core.test_frame_buffer import Wire, put
from tests.models.siphash import lanes as model_lanes
from tests.models.siphash import record, records
from tests.models.siphash import siphash as model

KEY, OTHER = bytes(range(16)), bytes(range(1, 17))
LIMIT = 300_000


def test_the_vectors_of_the_reference() -> None:
    """Of Aumasson and Bernstein's own implementation: data 00, 01, 02 ... of each length."""
    for data, code in (
        (b"", "a3817f04ba25a8e66df67214c7550293"),
        (b"\0", "da87c1d86b99af44347659119b22fc45"),
        (bytes(range(63)), "5150d1772f50834a503e069a973fbd7c"),
    ):
        assert siphash(KEY, data).hex() == model(KEY, data).hex() == code


@given(st.binary(min_size=16, max_size=16), st.binary(max_size=300))
def test_the_model_says_the_same(key: bytes, data: bytes) -> None:
    assert siphash(key, data) == model(key, data)


@given(st.binary(min_size=16, max_size=16), st.binary(max_size=1200))
def test_lanes_are_those_of_the_model_on_every_processor(key: bytes, data: bytes) -> None:
    assert lanes(key, data) == lanes(key, data, plain=True) == model_lanes(key, data)


@pytest.mark.parametrize("size", [*range(509, 517), 543, 544, 545, 65_535, RECORD_PAYLOAD])
def test_every_bit_of_a_large_payload_counts(size: int) -> None:
    """At the border of the two forms, and of stripes; in each lane, and in the rest."""
    payload = bytes(n * 7 % 251 for n in range(size))
    whole = RecordSealer(KEY).seal(payload)
    assert whole == record(KEY, 0, payload)
    for at in {0, 8, 16, 24, 31, size // 2, size // 32 * 32 - 1, size - 1}:
        changed = bytearray(payload)
        changed[at] ^= 1 << at % 8
        assert RecordSealer(KEY).seal(bytes(changed))[-16:] != whole[-16:]


@given(st.lists(st.binary(min_size=1, max_size=2000), min_size=1, max_size=5))
def test_records_are_those_of_the_model(pieces: list[bytes]) -> None:
    sealer = RecordSealer(KEY)
    made = [sealer.seal(piece) for piece in pieces]
    assert made == [record(KEY, n, piece) for n, piece in enumerate(pieces)]


def test_a_long_piece_becomes_several_records() -> None:
    data = bytes(range(256)) * 1000
    made = RecordSealer(KEY).seal(data)
    assert made == b"".join(records(KEY, data, RECORD_PAYLOAD))
    assert len(made) == len(data) + 4 * RECORD_OVERHEAD


@pytest.mark.parametrize("key", [b"", bytes(15), bytes(17)])
def test_a_key_has_sixteen_bytes(key: bytes) -> None:
    for make in (RecordSealer, RecordOpener, lambda key: FrameCutter(LIMIT).seal(key)):
        with pytest.raises(ValueError, match="16 bytes"):
            make(key)


# --- coming in


def cutter_of(key: bytes = KEY) -> FrameCutter:
    cutter = FrameCutter(LIMIT)
    cutter.authenticate()
    cutter.seal(key)
    return cutter


def frame(call: int, size: int = 20) -> bytes:
    return pack_frame(FrameKind.TELL, bytes([call % 256]) * size, call=call)


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=8),
    st.integers(1, 500),
    st.lists(st.integers(0, 25_000), max_size=12),
)
def test_frames_survive_any_cut(sizes: list[int], most: int, cuts: list[int]) -> None:
    """Frames begin and end anywhere in records, and records anywhere in what is read."""
    stream = b"".join(frame(call, size) for call, size in enumerate(sizes))
    sealed = b"".join(records(KEY, stream, most))
    cutter, sink = cutter_of(), FrameSink()
    marks = [0, *sorted(min(cut, len(sealed)) for cut in cuts), len(sealed)]
    for start, end in itertools.pairwise(marks):
        cutter.cut(sealed[start:end], sink)
        cutter._check()
        cutter.trim()
        assert cutter.left == cutter.missing == 0
    assert [found[4] for found in sink.frames] == [*range(len(sizes))]
    assert [len(found[5]) for found in sink.frames] == sizes


def passed(said: list[bytes]) -> list[int]:
    """What comes out of these records before one is refused, which has to happen."""
    cutter, sink = cutter_of(), FrameSink()

    def take_all() -> None:
        for piece in said:
            cutter.cut(piece, sink)

    with pytest.raises(ValueError, match=r"wrong code|claims a size"):
        take_all()
    with pytest.raises(ValueError, match="damaged before"):
        cutter.cut(record(KEY, 0, frame(9)), sink)
    return [found[4] for found in sink.frames]


HONEST = [record(KEY, n, frame(n)) for n in range(4)]
ATTACKS: dict[str, tuple[list[bytes], int]] = {
    "repeated": ([HONEST[0], HONEST[1], HONEST[1]], 2),
    "left out": ([HONEST[0], HONEST[2]], 1),
    "moved": ([HONEST[0], HONEST[2], HONEST[1]], 1),
    "sent back to who made it": ([record(OTHER, 0, frame(0))], 0),
    "made without the key": ([HONEST[0], record(bytes(16), 1, frame(1))], 1),
    "a bare frame": ([HONEST[0], frame(1), frame(2)], 1),
    "nothing": ([HONEST[0], record(KEY, 1, b"")], 1),
    "a code of another payload": ([HONEST[1][:-16] + HONEST[0][-16:]], 0),
    "4 GiB": ([b"\xff\xff\xff\xff" + bytes(100)], 0),
    "one byte too many": ([record(KEY, 0, bytes(RECORD_PAYLOAD + 1))], 0),
}


@pytest.mark.parametrize(("said", "good"), ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("torn", [False, True], ids=["whole", "torn"])
def test_what_somebody_in_between_can_do(said: list[bytes], good: int, torn: bool) -> None:
    if torn:
        said = [part for one in said for part in (one[:3], one[3:30], one[30:])]
    assert passed(said) == [*range(good)]


@pytest.mark.parametrize("place", range(len(HONEST[0])))
def test_no_bit_can_be_changed(place: int) -> None:
    for bit in range(8):
        changed = bytearray(HONEST[0])
        changed[place] ^= 1 << bit
        # More bytes follow, for a size that became larger.
        assert passed([bytes(changed), bytes(RECORD_PAYLOAD)]) == []


def test_a_frame_is_not_passed_before_its_last_record() -> None:
    cutter, sink = cutter_of(), FrameSink()
    first, second = records(KEY, frame(7, 100), 60)
    cutter.cut(first, sink)
    cutter.cut(second[:-1], sink)
    assert not sink.frames
    cutter.cut(second[-1:], sink)
    assert [found[4] for found in sink.frames] == [7]


def test_what_waits_is_bounded() -> None:
    """What is claimed costs nothing before it is there."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cutters = [cutter_of() for _ in range(2000)]
    for cutter in cutters:
        cutter.cut((RECORD_PAYLOAD + 1).to_bytes(4, "little")[:3], FrameSink())
        with pytest.raises(ValueError, match="claims a size"):
            cutter.cut(b"\xff", FrameSink())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


# --- going out


def opened(wire: Wire) -> list[int]:
    """Calls of all frames that are on the wire of a buffer that was sealed from the start."""
    cutter, sink = cutter_of(), FrameSink()
    cutter.cut(bytes(wire.wire), sink)
    return [found[4] for found in sink.frames]


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 4)), max_size=30), st.data())
def test_a_buffer_writes_records_however_the_socket_takes_them(
    puts: list[tuple[int, int]], data: st.DataObject
) -> None:
    wire = Wire()
    wire.seal(KEY)
    for call, (size, writes) in enumerate(puts):
        put(wire, call, size=size)
        for _ in range(writes):
            if wire.backlog and (wire.begin() or wire_is_flushing(wire)):
                wire.write(data.draw(st.integers(1, 4000)))
    wire.drain()
    while wire_is_flushing(wire):
        wire.write()
    assert opened(wire) == [*range(len(puts))]
    assert wire.backlog == 0


def wire_is_flushing(wire: Wire) -> bool:
    with memoryview(wire) as rest:
        return len(rest) > 0


def test_what_was_put_before_goes_out_bare() -> None:
    """Though it is still there when the records begin, in a buffer that somebody writes."""
    wire = Wire()
    wire.put_control(FrameKind.CHALLENGE, b"before")
    assert wire.begin()
    assert wire.write(3)
    wire.put_control(FrameKind.WELCOME, b"the last one")
    wire.seal(KEY)
    put(wire, 5, size=100_000)
    while wire.write(1000):
        pass
    bare = pack_frame(FrameKind.CHALLENGE, b"before") + pack_frame(
        FrameKind.WELCOME, b"the last one"
    )
    assert wire.wire[: len(bare)] == bare
    del wire.wire[: len(bare)]
    assert opened(wire) == [5]


def test_what_is_not_written_as_a_whole_is_not_sent() -> None:
    wire = Wire()
    wire.seal(KEY)
    for call in range(3):
        put(wire, call, size=200_000)
    assert wire.begin()
    assert wire.write()  # the first few records: one frame, and the front of the second
    assert wire.write(10)
    wire.shut()
    wire.release()
    assert wire.unsent(FrameKind.TELL) == 2
