"""Batches cut by key group, and frames for state bytes."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow
from typing_extensions import Buffer

MAGIC: Final = b"FLKS"

class CorruptPayload(ValueError): ...

class NewerFrame(ValueError):
    what: str
    found: int
    newest: int
    contents: memoryview | None
    def __init__(
        self, what: str, found: int, newest: int, contents: memoryview | None = None
    ) -> None: ...

class CorruptFrame(ValueError):
    reason: str
    found: str
    needed: str
    frame: str
    def __init__(self, reason: str, found: str, needed: str, frame: str) -> None: ...

class FrameHeader(NamedTuple):
    kind: int
    version: int
    key_group: int
    size: int
    compressed: bool

def group_rows(
    groups: Buffer | npt.NDArray[np.integer[Any]], number_of_groups: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], int]: ...
def pack_groups(
    batch: pyarrow.RecordBatch | pyarrow.Table,
    groups: Buffer | npt.NDArray[np.integer[Any]],
    number_of_groups: int,
) -> list[tuple[int, bytes, int]]: ...
def pack_payload(batch: pyarrow.RecordBatch) -> bytes: ...
def unpack_payload(payload: Buffer, schema: pyarrow.Schema) -> pyarrow.RecordBatch: ...
def seal(
    kind: int,
    version: int,
    key_group: int,
    payload: Buffer | npt.NDArray[Any],
    *,
    compress: bool = True,
) -> bytes: ...
def seal_parts(
    kind: int,
    version: int,
    key_group: int,
    payload: Buffer | npt.NDArray[Any],
    *,
    compress: bool = True,
) -> tuple[bytes, memoryview]: ...
def frame_header(blob: Buffer) -> FrameHeader: ...
def unseal(
    blob: Buffer, kind: int, key_group: int, *, version: int | None = None
) -> memoryview: ...
