"""Source functions of the tests; Spark's processes import this module."""

import threading
import time
from pathlib import Path
from typing import Any

from flinkish.functions import CheckpointedFunction, CheckpointListener, SourceFunction
from tests.spark.killed import written


class Numbers(SourceFunction, CheckpointedFunction, CheckpointListener):
    """Emits 0 .. end - 1 with event times, `hold` in one hold of the lock; then waits, or ends."""

    def __init__(self, end: int, hold: int = 1, pause_s: float = 0.0, waits: bool = True) -> None:
        self.end, self.hold, self.pause_s, self.waits = end, hold, pause_s, waits
        self.next = 0
        self.running = True
        self.finished: list[int] = []

    def run(self, ctx: Any) -> None:
        while self.running and self.next < self.end:
            with ctx.get_checkpoint_lock():
                for _ in range(self.hold):
                    ctx.collect_with_timestamp((self.next, str(self.next)), 1000 * self.next)
                    self.next += 1
            self.pause()
        while self.running and self.waits:
            time.sleep(0.01)

    def pause(self) -> None:
        """Before the next."""
        if self.pause_s:
            time.sleep(self.pause_s)

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        return str(self.next).encode()

    def restore_state(self, state: bytes) -> None:
        self.next = int(state)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.finished.append(checkpoint_id)


class FailsAt(Numbers):
    """Fails in the middle of a hold, having emitted a number that is not in its state yet."""

    def __init__(self, end: int, fails_at: int) -> None:
        super().__init__(end)
        self.fails_at = fails_at

    def run(self, ctx: Any) -> None:
        while self.running:
            with ctx.get_checkpoint_lock():
                ctx.collect((self.next, str(self.next)))
                if self.next == self.fails_at:
                    raise ValueError(f"cannot read {self.next}")
                self.next += 1
            time.sleep(0.001)


class Paced(Numbers):
    """Emits so many before there is a file in `out`, and so many more for each that is there.

    So there are at least so many micro-batches, however long one takes.
    """

    def __init__(self, end: int, out: str, each: int, pause_s: float = 0.001) -> None:
        super().__init__(end, pause_s=pause_s)
        self.out, self.each = out, each

    def pause(self) -> None:
        super().pause()
        while self.running and self.next >= self.each * (1 + written(Path(self.out))):
            time.sleep(0.01)


class Forgetful(Numbers):
    """Emits less when it is started for a second time, which files in `path` tell."""

    def __init__(self, end: int, path: str) -> None:
        super().__init__(end, waits=False)
        self.path = path

    def open(self, runtime_context: Any) -> None:
        marker = Path(self.path)
        if marker.exists():
            self.end -= 1
        marker.touch()


class Deaf(Numbers):
    """Does not listen to `cancel`."""

    def run(self, ctx: Any) -> None:
        self.release = threading.Event()
        self.release.wait()
