"""The way out: what is carried away by whom, credits, and the end.  B1 - B8: frame_buffer.pxd."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from flinkish._core.rpc.frame_buffer import FrameBuffer
from flinkish._core.rpc.framing import FRAME_HEADER_SIZE, FrameCutter, FrameKind, FrameSink
from tests.forking import in_a_fork

LARGE = 1 << 20


class NoCreditError(Exception):
    pass


class ShutError(Exception):
    pass


class Wire(FrameBuffer):
    """A buffer that counts what it asks for, and writes nothing on its own account."""

    def __init__(self, *, credit: int = 1 << 40, window: int = 1 << 40) -> None:
        super().__init__()
        self.flushes = self.rings = self.waits = 0
        self.wire = bytearray()
        self.open(largest=LARGE, credit=credit, window=window)

    def _transmit(self) -> None:
        self.flushes += 1

    def _ring(self) -> None:
        self.rings += 1

    def _await_credit(self, size: int, timeout_ms: int) -> int:
        self.waits += 1
        raise NoCreditError(size, timeout_ms)

    def _shut_error(self) -> Exception:
        return ShutError()

    def _large_error(self, kind: int, size: int, limit: int) -> Exception:
        return OverflowError(kind, size, limit)

    def write(self, most: int = 1 << 30) -> bool:
        """As the flusher: write so many bytes at once; whether there are more."""
        with memoryview(self) as out:
            size = min(most, len(out))
            self.wire += out[:size]
        return self.advance(size)

    def drain(self) -> None:
        if self.begin():
            while self.write():
                pass

    def cut(self) -> list[tuple[int, int, int, int, int, bytes]]:
        """All frames on the wire, the connection's own without their numbers."""
        cutter, sink = FrameCutter(LARGE), FrameSink()
        cutter.authenticate()
        cutter.cut(bytes(self.wire), sink)
        self.wire.clear()
        self.control = cutter.take_control()
        return sink.frames


def put(buffer: FrameBuffer, call: int, kind: int = FrameKind.TELL, size: int = 0) -> None:
    buffer.send(kind, 1, 2, call, bytes(size))


def test_the_first_two_are_flushed_at_once_the_others_rung_for_once() -> None:
    """B4, B5."""
    wire = Wire()
    for call in range(10):
        put(wire, call)
        if wire.flushes == call + 1:
            wire.drain()
    assert (wire.flushes, wire.rings) == (2, 1)
    wire.visit()
    wire.drain()
    assert [frame[4] for frame in wire.cut()] == list(range(10))
    put(wire, 10)
    assert (wire.flushes, wire.rings) == (3, 1)
    wire.drain()
    put(wire, 11)
    wire.hear()
    put(wire, 12)
    assert (wire.flushes, wire.rings) == (5, 1), "who hears from the peer may flush again"


def test_much_is_flushed_by_its_sender() -> None:
    """B5: memory is bounded by more than luck."""
    wire = Wire()
    for call in range(5):
        put(wire, call)
        wire.drain()
    rung = wire.rings
    for call in range(70):
        wire.send(FrameKind.TELL, 0, 0, call, bytes(1000))
    assert wire.rings == rung == 1
    assert wire.flushes > 2


def test_frames_without_flush_wait_for_one() -> None:
    wire = Wire()
    for call in range(5):
        wire.send(FrameKind.REPLY, 0, 0, call, b"", flush=False)
    assert (wire.flushes, wire.rings) == (0, 0)
    wire.flush()
    assert wire.flushes == 1
    wire.drain()
    wire.flush()
    assert wire.flushes == 1, "nothing to flush"


def test_nobody_flushes_beside_the_flusher() -> None:
    """B3: what is put meanwhile is found by the one who flushes."""
    wire = Wire()
    put(wire, 1)
    assert wire.begin()
    put(wire, 2)
    assert not wire.begin()
    assert (wire.flushes, wire.rings) == (1, 0)
    assert wire.write(10)
    assert wire.write()
    assert not wire.write()
    assert [frame[4] for frame in wire.cut()] == [1, 2]
    assert not wire.begin()


def test_only_the_io_thread_flushes_an_indirect_one() -> None:
    wire = Wire()
    wire.set_indirect(True)
    put(wire, 1)
    wire.send(FrameKind.TELL, 0, 0, 2, bytes(100_000))
    assert (wire.flushes, wire.rings) == (0, 1)


def test_a_request_may_overdraw_once() -> None:
    """B6."""
    wire = Wire(credit=100)
    put(wire, 1, size=79)
    assert wire.has_credit
    put(wire, 2, size=10_000)
    assert not wire.has_credit
    for kind in (FrameKind.TELL, FrameKind.ASK):
        with pytest.raises(NoCreditError, match=r"20, -1"):
            put(wire, 3, kind)
    for kind in (FrameKind.REPLY, FrameKind.ERROR, FrameKind.OPEN):
        put(wire, 4, kind)
    wire.grant(10_019)
    assert not wire.has_credit
    wire.grant(1)
    put(wire, 5)
    wire.drain()
    assert [frame[4] for frame in wire.cut()] == [1, 2, 4, 4, 4, 5]
    assert wire.counts[2] == 2


def test_a_peer_cannot_wrap_the_count() -> None:
    wire = Wire(credit=1)
    for _ in range(10_000):
        wire.grant(2**64 - 1)
    assert wire.has_credit
    put(wire, 1)


def test_what_was_appended_goes_out_before_its_sender_waits() -> None:
    wire = Wire(credit=1)
    wire.send(FrameKind.TELL, 0, 0, 1, b"", flush=False)
    with pytest.raises(NoCreditError):
        put(wire, 2)
    assert wire.flushes == 1


def test_credit_goes_back_in_batches() -> None:
    """B7."""
    wire = Wire(window=1000)
    wire.consumed(200)
    assert wire.flushes == 0
    wire.consumed(50)
    assert wire.flushes == 1
    wire.drain()
    assert wire.cut() == []
    assert wire.control == [(FrameKind.CREDIT, 250, b"")]


def test_no_credit_for_who_does_not_read() -> None:
    """B7: it comes when the way out is free again."""
    wire = Wire(window=1000)
    put(wire, 1, FrameKind.REPLY, 5000)
    wire.consumed(900)
    assert wire.begin()
    assert wire.write(500)
    wire.consumed(100)
    assert wire.backlog == 5000 + FRAME_HEADER_SIZE - 500
    while wire.write():
        pass
    assert [frame[4] for frame in wire.cut()] == [1]
    assert wire.control == [(FrameKind.CREDIT, 1000, b"")]


def test_a_shut_buffer() -> None:
    """B8, and what was lost with it."""
    wire = Wire()
    for call in range(5):
        put(wire, call, FrameKind.TELL if call % 2 else FrameKind.ASK, size=10)
    assert wire.begin()
    assert wire.write(35)  # the first frame, and half of the second
    put(wire, 5)
    assert not wire.shut()
    assert not wire.advance(0)
    assert wire.shut()
    assert wire.unsent(FrameKind.TELL) == 3
    assert wire.unsent(FrameKind.ASK) == 2
    with pytest.raises(ShutError):
        put(wire, 6)
    with pytest.raises(ShutError):
        wire.send(FrameKind.REPLY, 0, 0, 0, b"")
    assert not wire.put_control(FrameKind.PING)
    wire.consumed(1 << 50)
    wire.flush()
    assert not wire.begin()
    assert wire.is_shut
    assert wire.has_credit, "so that nobody waits on"


def test_bad_arguments() -> None:
    wire = Wire()
    for kind in (0, FrameKind.HELLO, FrameKind.GOODBYE):
        with pytest.raises(ValueError, match="kind must be 1 to 63"):
            wire.send(kind, 0, 0, 0, b"")
    for numbers in ((2**16, 0, 0), (0, 2**32, 0), (0, 0, 2**64), (-1, 0, 0)):
        with pytest.raises(OverflowError):
            wire.send(FrameKind.TELL, *numbers, b"")
    with pytest.raises(TypeError):
        wire.send(FrameKind.TELL, 0, 0, 0, "text")  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match=r"4, 1048577, 1048576"):
        wire.send(FrameKind.TELL, 0, 0, 0, bytes(LARGE - 19))
    with pytest.raises(ValueError, match="1 bytes cannot"):
        wire.advance(1)
    with pytest.raises((TypeError, BufferError)):
        memoryview(wire)[0] = 1
    assert wire.backlog == 0


def test_the_buffer_stays_while_somebody_holds_it() -> None:
    wire = Wire()
    put(wire, 1)
    wire.begin()
    held = memoryview(wire)
    with pytest.raises(ValueError, match="cannot have been written"):
        wire.advance(1)
    held.release()
    assert not wire.write()


def test_memory_of_a_rush_is_given_back() -> None:
    wire = Wire()
    for _ in range(3):
        put(wire, 1, size=LARGE - 20)
        wire.drain()
    wire.trim()
    put(wire, 2, size=1000)
    wire.drain()
    assert [frame[4] for frame in wire.cut()] == [1, 1, 1, 2]


@given(
    st.lists(st.tuples(st.sampled_from([4, 5, 6]), st.integers(0, 3000)), max_size=30), st.data()
)
def test_bytes_come_out_as_they_went_in(sent: list[tuple[int, int]], data: st.DataObject) -> None:
    wire = Wire()
    for call, (kind, size) in enumerate(sent):
        wire.send(kind, 1, 2, call, bytes([call % 251]) * size, flush=data.draw(st.booleans()))
        if data.draw(st.booleans()) and wire.begin():
            while wire.write(data.draw(st.integers(1, 5000))):
                pass
    wire.drain()
    expected = [
        (kind, 0, 1, 2, call, bytes([call % 251]) * size) for call, (kind, size) in enumerate(sent)
    ]
    assert wire.cut() == expected


class Flow(RuleBasedStateMachine):
    """Credits against a model that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.window = 1000
        self.wire = Wire(credit=self.window, window=self.window)
        self.under_way: deque[int] = deque()
        self.flushing = False

    @property
    def credit(self) -> int:
        return self.window - sum(self.under_way)

    @rule(size=st.integers(0, 2000), kind=st.sampled_from([FrameKind.TELL, FrameKind.ASK]))
    def request(self, size: int, kind: int) -> None:
        if self.credit > 0:
            put(self.wire, 0, kind, size)
            self.under_way.append(size + FRAME_HEADER_SIZE)
        else:
            with pytest.raises(NoCreditError):
                put(self.wire, 0, kind, size)

    @rule(size=st.integers(0, 2000))
    def reply(self, size: int) -> None:
        put(self.wire, 0, FrameKind.REPLY, size)

    @precondition(lambda self: self.under_way)
    @rule()
    def consumed_there(self) -> None:
        self.wire.grant(self.under_way.popleft())

    @precondition(lambda self: not self.flushing)
    @rule()
    def begin(self) -> None:
        had = self.wire.backlog
        self.flushing = self.wire.begin()
        assert self.flushing == (had > 0)

    @precondition(lambda self: self.flushing)
    @rule(size=st.integers(1, 3000))
    def write(self, size: int) -> None:
        self.flushing = self.wire.write(size)

    @invariant()
    def credit_is_counted(self) -> None:
        assert self.wire.has_credit == (self.credit > 0)


TestFlow = Flow.TestCase


def test_a_child_of_a_fork_neither_waits_for_a_flusher_nor_changes_anything() -> None:
    """B8."""
    wire = Wire(credit=0)
    wire.put_control(FrameKind.GOODBYE)
    assert wire.begin()  # a thread of the parent flushes, and is not in the child

    def child() -> None:
        wire.grant(100)
        wire.visit()
        wire.trim()
        wire.open(largest=1, credit=1, window=1)
        assert wire.unsent(FrameKind.GOODBYE) == 0
        assert wire.shut()
        wire.release()

    in_a_fork(child)
    assert not wire.has_credit
    assert not wire.shut()
