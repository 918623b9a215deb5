"""A door for tests and benchmarks into connections."""

from typing import Protocol, final

from flinkish._core.rpc.frame_buffer import FrameBuffer
from flinkish._core.rpc.framing import FrameSink

class _Lock(Protocol):
    def release(self) -> None: ...

@final
class EchoSink(FrameSink):
    """Answers every ASK with its own payload."""

    def __init__(self, way_back: FrameBuffer) -> None: ...
    @property
    def requests(self) -> int: ...

@final
class ReplySink(FrameSink):
    """Counts what comes in."""

    def __init__(self, lock: _Lock) -> None: ...
    @property
    def replies(self) -> int: ...
    @property
    def wanted(self) -> int: ...
    def want(self, replies: int) -> bool: ...
