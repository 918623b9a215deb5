"""Writing results down as they come, one segment an attempt.

Invariants:
  G1  A segment has one writer: its name has the attempt's and chance in it.
  G2  Where files can be appended to, what `append` was given is with the system when it returns,
      so the end of the process does not lose it.  (The end of the machine may: `close` alone
      waits for the disk.)
  G3  Elsewhere a segment is there once it is closed, which it is when it is old or large enough.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Sequence

import pyarrow as pa

from flinkish.common.errors import CheckpointStorageError
from flinkish.spark.results.files import SUFFIX, Place
from flinkish.spark.results.segments import group_bytes, sealed_end

__all__ = ["LedgerWriter"]

_OLD_S = 2.0  # a segment where files cannot be appended to
_LARGE = 8 << 20  # bytes


class LedgerWriter:
    """Appends results of one attempt of one partition.

    Threading: one thread at a time.
    """

    def __init__(
        self,
        place: Place,
        attempt: str,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.written = 0
        self._place = place
        self._attempt = attempt
        self._clock_s = clock_s
        self._file: pa.NativeFile | None = None
        self._name = ""
        self._number = 0  # of the next group in the segment
        self._waiting: list[bytes] = []  # groups, where files cannot be appended to
        self._waiting_bytes = 0
        self._since_s = 0.0

    def append(self, keys: Sequence[bytes], results: pa.ListArray) -> None:
        """Write down the output rows of some calls, as a list of structs for each."""
        blob = group_bytes(self._number, b"".join(keys), results)
        self._number += 1
        self.written += len(keys)
        if self._place.appendable:
            self._write(blob)
            return
        if not self._waiting:
            self._since_s = self._clock_s()
        self._waiting.append(blob)
        self._waiting_bytes += len(blob)
        if self._waiting_bytes >= _LARGE:
            self.flush()
        else:
            self.flush_if_old()

    def flush_if_old(self) -> None:
        """Make a segment of what waits if it has waited for long; to be called now and then."""
        if self._waiting and self._clock_s() - self._since_s >= _OLD_S:
            self.flush()

    def flush(self) -> None:
        """Make a segment of what waits; nothing where files can be appended to."""
        if self._waiting:
            waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
            self._write(b"".join(waiting))
            self.close()

    def close(self) -> None:
        """Seal the segment."""
        self.flush()
        file, self._file = self._file, None
        if file is None:
            return
        with self._told():
            file.write(sealed_end(self._number))
            file.close()
            if self._place.local:
                _to_disk(f"{self._place.directory}/{self._name}")
        self._number = 0

    def _write(self, blob: bytes) -> None:
        with self._told():
            if self._file is None:
                stamp = f"{time.time_ns() // 1_000_000:014d}"
                self._name = f"{stamp}-{self._attempt}-{secrets.token_hex(6)}{SUFFIX}"
                self._file = self._place.create(self._name)
            self._file.write(blob)
            self._file.flush()

    def _told(self) -> _Told:
        return _Told(self._place.path)


class _Told:
    """Says of an error of the file system what it was about."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, OSError):
            raise CheckpointStorageError(
                f"results cannot be written to the ledger {self._path!r}: {error}; make room, "
                "give a directory that workers may write, or go without ledger=",
                path=self._path,
            ) from error


def _to_disk(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
