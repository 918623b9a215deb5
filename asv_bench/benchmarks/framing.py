"""Frames: cutting them out of a stream, in one piece or in crumbs, and putting them together.

Figures are seconds for all ``FRAMES`` of 100 bytes: divide to get the cost of one.  What goes on
between two processes is measured by ``asv_bench/whole/rpc_floor.py``.
"""

import struct

from flinkish._core.rpc.frame_buffer import FrameBuffer
from flinkish._core.rpc.framing import FrameCutter, FrameKind, pack_frame
from flinkish._core.testing.framing import ReplySink

FRAMES = 100_000
LIMIT = 10 * 1024 * 1024
HEADER = struct.Struct("<IBBHIQ")


class Nowhere(FrameBuffer):
    """Throws away what it is to write."""

    def _transmit(self) -> None:
        more = self.begin()
        while more:
            with memoryview(self) as out:
                size = len(out)
            more = self.advance(size)

    _ring = _transmit


class Framing:
    number = 1
    repeat = (5, 15, 10.0)
    warmup_time = 0

    def setup(self) -> None:
        self.payload = bytes(100)
        self.stream = pack_frame(FrameKind.TELL, self.payload) * FRAMES
        self.pieces = [self.stream[at : at + 65_536] for at in range(0, len(self.stream), 65_536)]
        self.crumbs = [self.stream[at : at + 50] for at in range(0, len(self.stream), 50)]
        self.large = pack_frame(FrameKind.TELL, bytes(LIMIT - 20))
        self.buffer = Nowhere()
        self.buffer.open(largest=LIMIT, credit=1 << 50, window=1 << 50)
        self.sink = ReplySink(None)

    def cutter(self) -> FrameCutter:
        cutter = FrameCutter(LIMIT)
        cutter.authenticate()
        return cutter

    def time_cut(self) -> None:
        cutter = self.cutter()
        for piece in self.pieces:
            cutter.cut(piece, self.sink)

    def time_cut_crumbs(self) -> None:
        cutter = self.cutter()
        for crumb in self.crumbs:
            cutter.cut(crumb, self.sink)

    def time_cut_in_python(self) -> None:
        """The peer: ``struct`` and slices."""
        stream, at, cut = self.stream, 0, []
        while at < len(stream):
            head = HEADER.unpack_from(stream, at)
            cut.append((head, stream[at + HEADER.size : at + 4 + head[0]]))
            at += 4 + head[0]
            if len(cut) == 1000:
                cut.clear()

    def time_receive_10_mib_in_place(self) -> None:
        cutter = self.cutter()
        cutter.cut(self.large[:64], self.sink)
        at = 64
        while cutter.missing:
            with memoryview(cutter) as room:
                size = min(len(room), 262_144)
                room[:size] = self.large[at : at + size]
            cutter.filled(size, self.sink)
            at += size
        cutter.cut(self.large[at:], self.sink)

    def time_send(self) -> None:
        send, payload = self.buffer.send, self.payload
        for call in range(FRAMES):
            send(FrameKind.TELL, 1, 2, call, payload)

    def time_send_without_flush(self) -> None:
        send, payload = self.buffer.send, self.payload
        for call in range(FRAMES):
            send(FrameKind.TELL, 1, 2, call, payload, flush=False)
        self.buffer.flush()
