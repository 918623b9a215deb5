"""Private directories: tables that one process holds, and nobody else can find or remove."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

from flinkish._core.state.table import FILES
from flinkish.spark.tables.root import OPEN_DIRECTORY, Root

__all__ = ["PRIVATE", "PrivateTable", "hold", "private_name", "remove", "state_name"]

PRIVATE = "."

_held: set[PrivateTable] = set()


class PrivateTable:
    """A table directory that this process holds; without a root it stands for memory."""

    __slots__ = ("descriptor", "key_group", "name", "root")

    def __init__(
        self, key_group: int, root: Root | None = None, name: str = "", descriptor: int = -1
    ) -> None:
        self.key_group = key_group
        self.root = root
        self.name = name  # below the root
        self.descriptor = descriptor  # of the directory; it has the lock
        if root is not None:
            _held.add(self)

    @property
    def held(self) -> bool:
        """Whether there is a directory which this process may use."""
        return self.descriptor >= 0

    @property
    def path(self) -> Path | None:
        """The directory, for messages and tests; None for memory."""
        return None if self.root is None else Path(self.root.path, self.name)

    def open(self, *, create: bool) -> list[int]:
        """Descriptors of its files, for `StateTable.map`, which takes them over.

        Files that cannot be made are memory; OSError for old ones that cannot be opened.
        """
        if not self.held:
            return [-1] * len(FILES)
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        flags |= os.O_CREAT | os.O_EXCL if create else 0
        descriptors: list[int] = []
        try:
            for name in FILES:
                descriptors.append(os.open(name, flags, 0o600, dir_fd=self.descriptor))
        except OSError:
            for descriptor in descriptors:
                os.close(descriptor)
            if not create:
                raise
            self.discard()
            return [-1] * len(FILES)
        return descriptors

    def publish(self, name: str) -> bool:
        """Rename it and let go of it, used just now; False if it could not be, and is gone."""
        root = self.root
        if root is None or not self.held:
            return False
        at = root.descriptor
        try:
            os.utime(self.descriptor)
            os.rename(self.name, name, src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            self.discard()
            return False
        self._release()
        return True

    def discard(self) -> None:
        """Remove it; nothing happens in a process that does not hold it."""
        if self.root is not None and self.held:
            _empty(self.descriptor)
            _rmdir(self.root, self.name)
            self._release()

    def _release(self) -> None:
        # Said aloud, since a child forked without Python's knowledge has the descriptor, too.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        self._close()

    def _close(self) -> None:
        os.close(self.descriptor)
        self.descriptor = -1
        _held.discard(self)


def hold(root: Root, name: str) -> int | None:
    """A descriptor of a private directory that has its lock; None if it is held, or gone."""
    try:
        descriptor = os.open(name, OPEN_DIRECTORY, dir_fd=root.descriptor)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between the two calls somebody else may have had the lock, and removed the directory.
        found = os.stat(name, dir_fd=root.descriptor, follow_symlinks=False)
        if os.path.samestat(found, os.fstat(descriptor)):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def remove(root: Root, name: str) -> bool:
    """Remove a table, or a private directory that nobody holds; False if somebody does."""
    home, _, last = name.rpartition("/")
    if not last.startswith(PRIVATE):
        # Out of sight first: a process that would claim it must not get half of it.
        mine = f"{home}/{private_name()}"
        try:
            os.rename(name, mine, src_dir_fd=root.descriptor, dst_dir_fd=root.descriptor)
        except OSError:
            return False
        name = mine
    descriptor = hold(root, name)
    if descriptor is None:
        return False
    _empty(descriptor)
    _rmdir(root, name)
    os.close(descriptor)  # last: until then nobody takes the lock of what is half removed
    return True


def private_name() -> str:
    """A name for a private directory."""
    return f"{PRIVATE}{secrets.token_hex(8)}"


def state_name(nonce: str) -> bytes:
    """The state's name in the files of a table, whatever its nonce looks like."""
    return hashlib.blake2b(nonce.encode(), digest_size=16).digest()


def _empty(directory: int) -> None:
    for name in os.listdir(directory):
        with suppress(OSError):  # the directory then stays, and is found again
            os.unlink(name, dir_fd=directory)


def _rmdir(root: Root, name: str) -> None:
    with suppress(OSError):
        os.rmdir(name, dir_fd=root.descriptor)


def _forked() -> None:
    for table in list(_held):
        table._close()


os.register_at_fork(after_in_child=_forked)
