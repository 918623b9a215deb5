"""Removal of tables: those unused for long, the oldest of too many, those of dead processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from flinkish.spark.tables.private import PRIVATE, remove
from flinkish.spark.tables.root import OPEN_DIRECTORY, Root, boot_id, open_own

__all__ = ["HOUR_S", "Limits", "collect"]

HOUR_S = 3600.0

_DEPTH = 4  # of a table below a root: query, operator, key group, nonce
_NOTE = ".collected"
_looked_s: dict[str, float] = {}  # when this process looked at a root; monotonic


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of tables: how long one stays after its last use, and the bytes of a root.

    Without ``most_bytes`` they are a quarter of the file system.
    """

    keep_s: float
    most_bytes: int | None


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    used_s: float
    size: int

    @property
    def private(self) -> bool:
        return self.name.rpartition("/")[2].startswith(PRIVATE)


def collect(root: Root, limits: Limits, every_s: float) -> int:
    """Remove what is not to stay in a root; returns how many tables and roots.

    One process of a machine does it at a time, and only if none did within `every_s`.
    """
    looked = _looked_s.get(root.path)
    if looked is not None and time.monotonic() - looked < every_s:
        return 0
    _looked_s[root.path] = time.monotonic()
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        note = os.open(_NOTE, flags, 0o600, dir_fd=root.descriptor)
    except OSError:
        return 0  # the root is gone, or its file system is full of files
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(note)
        if status.st_size and 0 <= time.time() - status.st_mtime < every_s:
            return 0
        os.pwrite(note, b"\n", 0)
        os.utime(note)
        return _collect(root, limits) + _forget_boots(root)
    except OSError:
        return 0  # another one is at it, or the disk is broken
    finally:
        os.close(note)


def _collect(root: Root, limits: Limits) -> int:
    removed = 0
    kept: list[_Found] = []
    oldest = time.time() - limits.keep_s
    for found in list(_tables(root.descriptor, "", _DEPTH)):
        if (found.private or found.used_s < oldest) and remove(root, found.name):
            removed += 1
        else:
            kept.append(found)
    most = limits.most_bytes
    most = root.file_system_bytes() // 4 if most is None else most
    excess = sum(found.size for found in kept) - most
    for found in sorted(kept, key=lambda found: found.used_s):
        if excess > 0 and not found.private and remove(root, found.name):
            removed += 1
            excess -= found.size
    return removed


def _tables(directory: int, path: str, depth: int) -> Iterator[_Found]:
    """Tables below an open directory; directories without any are removed on the way."""
    for name in os.listdir(directory):
        try:
            inner = os.open(name, OPEN_DIRECTORY, dir_fd=directory)
        except OSError:
            continue  # no directory, or gone by now
        try:
            if depth > 1:
                yield from _tables(inner, f"{path}{name}/", depth - 1)
            else:
                yield _Found(f"{path}{name}", os.fstat(inner).st_mtime, _size(inner))
        finally:
            os.close(inner)
        if depth > 1:
            with suppress(OSError):  # it is not empty
                os.rmdir(name, dir_fd=directory)


def _size(table: int) -> int:
    """The bytes that the files of a table take on the disk."""
    size = 0
    for name in os.listdir(table):
        with suppress(OSError):  # claimed and gone
            size += os.stat(name, dir_fd=table, follow_symlinks=False).st_blocks * 512
    return size


def _forget_boots(root: Root) -> int:
    """Remove roots of earlier boots, which no process has open."""
    removed = 0
    mine = f"flinkish-{os.geteuid()}-"
    for name in os.listdir(root.parent):
        if name.startswith(mine) and not name.startswith(mine + boot_id()):
            path = f"{root.parent}/{name}"
            descriptor = open_own(path, fcntl.LOCK_EX)
            if descriptor is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(descriptor)
                removed += 1
    return removed
