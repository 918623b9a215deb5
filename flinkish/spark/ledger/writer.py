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
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from flinkish.common.errors import CheckpointStorageError, SchemaMismatchError
from flinkish.spark.ledger.files import SUFFIX, Place
from flinkish.spark.ledger.keys import Keys
from flinkish.spark.ledger.segments import group_bytes, sealed_end

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
        schema: pa.Schema,
        attempt: str,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.written = 0
        self._place = place
        self._schema = schema
        self._attempt = attempt
        self._clock_s = clock_s
        self._file: pa.NativeFile | None = None
        self._name = ""
        self._number = 0  # of the next group in the segment
        self._waiting: list[bytes] = []  # groups, where files cannot be appended to
        self._waiting_bytes = 0
        self._since_s = 0.0

    def append(self, keys: Keys, results: Sequence[Iterable[Sequence[Any]]]) -> None:
        """Write down the output rows of some calls, each row a sequence of the schema's columns."""
        if len(keys):
            self.append_arrow(keys, list_array(results, self._schema))

    def append_arrow(self, keys: Keys, results: pa.ListArray) -> None:
        """The same, the output rows as a list of structs for each call."""
        blob = group_bytes(self._number, keys, results)
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
            if isinstance(self._place.file_system, pafs.LocalFileSystem):
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


def list_array(results: Sequence[Iterable[Sequence[Any]]], schema: pa.Schema) -> pa.ListArray:
    """Output rows of calls as Arrow has them: a list of structs for each call."""
    each = [list(rows) for rows in results]
    flat = [row for rows in each for row in rows]
    offsets = [0, *accumulate(map(len, each))]
    columns = list(zip(*flat, strict=True)) if flat else [()] * len(schema)
    if len(columns) != len(schema):
        raise SchemaMismatchError(
            f"a result has {len(columns)} columns, and the schema {len(schema)}: {flat[0]!r}",
            value=flat[0],
            schema=str(schema),
        )
    fields = list(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)]
    if not arrays:
        structs = pa.array([{}] * len(flat), pa.struct([]))
    else:
        structs = pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.ListArray.from_arrays(pa.array(np.array(offsets, np.int32)), structs)


def _to_disk(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
