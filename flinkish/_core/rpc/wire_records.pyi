"""Records of a stream, each with a code that only its two ends can make."""

from typing_extensions import Self, disjoint_base

RECORD_OVERHEAD: int
RECORD_PAYLOAD: int

def siphash(key: bytes, data: bytes) -> bytes: ...
def lanes(key: bytes, data: bytes, *, plain: bool = False) -> bytes: ...

@disjoint_base
class RecordSealer:
    """Makes records of a stream that goes out."""

    def __new__(cls, key: bytes) -> Self: ...
    def seal(self, data: bytes) -> bytes: ...

@disjoint_base
class RecordOpener:
    """Finds the records in a stream that comes in, and checks them."""

    def __new__(cls, key: bytes) -> Self: ...
