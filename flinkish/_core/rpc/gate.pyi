"""What a connection holds back while its peer reads no replies."""

from typing import final

from typing_extensions import disjoint_base

from flinkish._core.rpc.frame_buffer import FrameBuffer
from flinkish._core.rpc.inbox import Letter

@final
class Resume(Letter):
    """Put the calls that were held back in front."""

@disjoint_base
class Gate:
    """Of one connection."""

    def __init__(self, out: FrameBuffer) -> None: ...
    def relieve(self) -> None: ...
    def answer_late(self) -> None: ...
