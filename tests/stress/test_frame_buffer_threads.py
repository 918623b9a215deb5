"""Many threads put frames, whoever comes first carries them away, and the end comes any time."""

import threading

import pytest

from flinkish._core.rpc.framing import FrameCutter, FrameKind, FrameSink
from tests.core.test_frame_buffer import LARGE, ShutError, Wire

pytestmark = pytest.mark.stress


class Carrier(Wire):
    """Carries away in the thread that sends; a bell for what is left to the I/O thread."""

    def __init__(self) -> None:
        super().__init__()
        self.bell = threading.Semaphore(0)
        self.carriers = 0
        self.together = 0

    def carry(self) -> None:
        if not self.begin():
            return
        self.carriers += 1
        self.together = max(self.together, self.carriers)
        more = True
        while more:
            with memoryview(self) as out:
                size = min(len(out), 4000)
                self.wire += out[:size]
            if size == 0:
                break
            last = self.carriers
            self.carriers -= 1
            more = self.advance(size)
            if more:
                self.carriers += 1
            self.together = max(self.together, last)

    def _transmit(self) -> None:
        self.carry()

    def _ring(self) -> None:
        self.bell.release()


@pytest.mark.parametrize("indirect", [False, True])
def test_nothing_is_lost_torn_or_reordered(indirect: bool) -> None:
    buffer, done = Carrier(), threading.Event()
    buffer.set_indirect(indirect)
    threads, each = 4, 5000

    def io_thread() -> None:
        while not done.is_set():
            if buffer.bell.acquire(timeout=0.05):
                buffer.visit()
                buffer.carry()

    def send(endpoint: int) -> None:
        for call in range(each):
            size = 70_000 if call % 1000 == 500 else call % 90
            buffer.send(FrameKind.TELL, 0, endpoint, call, bytes([call % 256]) * size)

    carrier = threading.Thread(target=io_thread)
    senders = [threading.Thread(target=send, args=(n,)) for n in range(threads)]
    for thread in [carrier, *senders]:
        thread.start()
    for thread in senders:
        thread.join()
    done.set()
    carrier.join()
    buffer.visit()
    buffer.carry()
    assert buffer.backlog == 0
    assert buffer.together <= 1, "two flushed at once"
    cutter, sink = FrameCutter(LARGE), FrameSink()
    cutter.authenticate()
    cutter.cut(buffer.wire, sink)
    assert len(sink.frames) == threads * each
    for endpoint in range(threads):
        mine = [frame for frame in sink.frames if frame[3] == endpoint]
        assert [frame[4] for frame in mine] == list(range(each))
        assert all(set(frame[5]) <= {frame[4] % 256} for frame in mine)


def test_the_end_at_any_moment() -> None:
    """Who sends gets an error or its frame is counted: as written, or as lost."""
    for round_ in range(30):
        buffer = Carrier()
        taken = [0] * 3
        started = threading.Barrier(4)

        def send(
            n: int, buffer: Carrier = buffer, taken: list[int] = taken, started=started
        ) -> None:
            started.wait()
            try:
                for call in range(100_000):
                    buffer.send(FrameKind.TELL, 0, n, call, b"x" * 30)
                    taken[n] += 1
            except ShutError:
                pass

        threads = [threading.Thread(target=send, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        started.wait()
        threading.Event().wait(0.001 * (round_ % 5))
        buffer.shut()
        for thread in threads:
            thread.join()
        cutter, sink = FrameCutter(LARGE), FrameSink()
        cutter.authenticate()
        cutter.cut(buffer.wire, sink)
        assert len(sink.frames) + buffer.unsent(FrameKind.TELL) == buffer.counts[0]
        assert 0 <= buffer.counts[0] - sum(taken) <= 3, "at most the one that each was sending"
