"""Frames against their model: cut anywhere, truncated, damaged, and claiming too much."""

import contextlib
import itertools
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.rpc.framing import (
    CONTROL_LIMIT,
    FRAME_HEADER_SIZE,
    FrameCutter,
    FrameKind,
    FrameSink,
    pack_frame,
)
from tests.models.framing import Damaged, ModelCutter, TooLarge, pack

LIMIT = 100_000


class TooLargeError(Exception):
    pass


class Cutter(FrameCutter):
    @staticmethod
    def large_error(message: str, size: int, limit: int) -> Exception:
        return TooLargeError(message, size, limit)


frames = st.tuples(
    st.sampled_from([2, 4, 5, 6, 63]),
    st.integers(0, 255),
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.binary(max_size=40) | st.integers(0, LIMIT - 20).map(bytes),
)
opens = st.tuples(
    st.just(1), st.just(0), st.just(0), st.just(0), st.integers(0, 2**64 - 1), st.binary()
)
controls = st.tuples(
    st.integers(64, 79), st.just(0), st.just(0), st.just(0), st.integers(0, 2**64 - 1), st.binary()
)


def pieces(data: st.DataObject, stream: bytes) -> list[bytes]:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12), label="cuts")
    marks = [0, *sorted(cuts), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(marks)]


def feed(cutter: FrameCutter, sink: FrameSink, piece: bytes) -> int:
    """One piece, received straight into place where the cutter would like that."""
    done = 0
    while piece and cutter.missing:
        with memoryview(cutter) as room:
            size = min(len(piece), len(room))
            room[:size] = piece[:size]
        done += cutter.filled(size, sink)
        piece = piece[size:]
    while True:
        done += cutter.cut(piece, sink)
        cutter._check()
        piece = piece[len(piece) - cutter.left :]
        if not piece:
            return done


def feed_model(model: ModelCutter, piece: bytes) -> None:
    while True:
        model.cut(piece)
        piece = model.left
        if not piece:
            return


@given(st.data(), st.lists(frames | opens | controls, max_size=8))
def test_frames_survive_any_cut(data: st.DataObject, sent: list[tuple]) -> None:
    cutter, sink, model = Cutter(LIMIT), FrameSink(), ModelCutter(LIMIT)
    cutter.authenticate()
    control, done = [], 0
    for piece in pieces(data, b"".join(pack(*frame) for frame in sent)):
        done += feed(cutter, sink, piece)
        control += cutter.take_control()
        model.cut(piece)
        assert sink.frames == model.frames
        assert control == model.control
        assert cutter.frames == done == len(sink.frames) + len(control)
    assert sink.frames == [frame for frame in sent if frame[0] < 64]


@given(
    st.data(),
    st.lists(frames | opens | controls, min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from([CONTROL_LIMIT, LIMIT]),
)
def test_damage_is_noticed_or_harmless(
    data: st.DataObject, sent: list[tuple], authenticated: bool, limit: int
) -> None:
    """Bits flip, bytes vanish: the cutter does what the model does, whatever that is."""
    stream = bytearray(b"".join(pack(*frame) for frame in sent))
    for bit in data.draw(st.lists(st.integers(0, len(stream) * 8 - 1), max_size=4), label="bits"):
        stream[bit // 8] ^= 1 << bit % 8
    first = data.draw(st.integers(0, len(stream)), label="first")
    last = data.draw(st.integers(first, len(stream)), label="last")
    cutter, sink, model = Cutter(limit), FrameSink(), ModelCutter(limit, authenticated)
    if authenticated:
        cutter.authenticate()
    for piece in pieces(data, bytes(stream[first:last])):
        outcomes = []
        for cut in (lambda p: feed(cutter, sink, p), lambda p: feed_model(model, p)):
            try:
                cut(piece)
                outcomes.append("well")
            except (ValueError, Damaged):
                outcomes.append("damaged")
            except (TooLargeError, TooLarge):
                outcomes.append("too large")
        assert outcomes[0] == outcomes[1]
        assert sink.frames == model.frames
        if outcomes[0] != "well":
            assert cutter.broken
            with pytest.raises(ValueError, match="damaged before"):
                cutter.cut(b"", sink)
            return


@given(st.binary(max_size=300))
def test_noise_is_never_read_past_its_end(noise: bytes) -> None:
    cutter, sink, model = Cutter(CONTROL_LIMIT), FrameSink(), ModelCutter(CONTROL_LIMIT)
    cutter.authenticate()
    for cut in (lambda: cutter.cut(noise, sink), lambda: model.cut(noise)):
        with contextlib.suppress(ValueError, TooLargeError, Damaged, TooLarge):
            cut()
    assert sink.frames == model.frames


def test_a_claim_of_4_gib_is_refused_at_once() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cutter, sink = Cutter(10 * 1024 * 1024), FrameSink()
    cutter.authenticate()
    with pytest.raises(TooLargeError, match=r"4294967299 bytes .* max_frame_size allows 10485760"):
        cutter.cut(b"\xff\xff\xff\xff", sink)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB


def test_what_an_error_says() -> None:
    sink = FrameSink()
    for stream, found in [
        (b"\x0f\0\0\0", "claims 19 bytes, and its header alone has 20"),
        (pack_frame(0), "kind 0"),
        (pack_frame(80), "kind 80"),
        (pack_frame(FrameKind.PING, bytes(CONTROL_LIMIT)), "kind 69 has 8212 bytes, and 8192"),
    ]:
        cutter = Cutter(LIMIT)
        cutter.authenticate()
        with pytest.raises(ValueError, match=found):
            cutter.cut(stream, sink)
    with pytest.raises(ValueError, match="kind 5 came before the peer was authenticated"):
        Cutter(LIMIT).cut(pack_frame(FrameKind.ASK), sink)
    with pytest.raises(ValueError, match="8213 bytes came before the peer was authenticated"):
        Cutter(LIMIT).cut(pack_frame(FrameKind.HELLO, bytes(8193)), sink)
    assert sink.frames == []


@pytest.mark.parametrize("limit", [0, CONTROL_LIMIT - 1, 2**32])
def test_a_limit_fits_the_length_field(limit: int) -> None:
    with pytest.raises(ValueError, match=f"limit must be 8192 to 4294967295, not {limit}"):
        FrameCutter(limit)


def test_the_buffer_of_a_large_frame() -> None:
    cutter, sink = Cutter(LIMIT), FrameSink()
    cutter.authenticate()
    payload = bytes(range(256)) * 300
    stream = pack_frame(FrameKind.TELL, payload)
    assert cutter.missing == 0
    with pytest.raises(BufferError, match="no large frame"):
        memoryview(cutter)
    cutter.cut(stream[:30], sink)
    assert cutter.missing == len(stream) - 30
    with memoryview(cutter) as room:
        room[:] = stream[30:]
        with pytest.raises(BufferError, match="release"):
            cutter.filled(1, sink)
        with pytest.raises(BufferError, match="release"):
            cutter.cut(b"1", sink)
    with pytest.raises(ValueError, match="not asked for"):
        cutter.filled(len(stream), sink)
    assert cutter.filled(len(stream) - 30, sink) == 1
    assert sink.frames[0][5] == payload
    cutter.trim()
    cutter._check()


def test_a_header_has_its_size() -> None:
    assert len(pack_frame(FrameKind.ASK)) == FRAME_HEADER_SIZE
    assert pack_frame(5, b"ab", flags=1, method=2, endpoint=3, call=4) == pack(5, 1, 2, 3, 4, b"ab")
    with pytest.raises(OverflowError):
        pack_frame(5, method=2**16)
