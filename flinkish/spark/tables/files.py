"""Claims: which table is whose."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

from flinkish.spark.tables.collector import HOUR_S, Limits, collect
from flinkish.spark.tables.private import PRIVATE, PrivateTable, hold, private_name, remove
from flinkish.spark.tables.root import Root, local_directories, open_root

__all__ = ["TableFiles", "new_nonce"]

_TRIES = 3  # to make a directory while a collector removes empty ones


def new_nonce(before: str = "") -> str:
    """A name that no state ever had, in the line of the state before it.

    Lines tell apart the states of queries that have the same path, as where Spark does not tell
    a worker its query.
    """
    return f"{_line(before) or secrets.token_hex(4)}-{secrets.token_hex(12)}"


def _line(nonce: str) -> str:
    return nonce.rpartition("-")[0]


class TableFiles:
    """The tables of one operator of one query on this machine.

    They are spread over Spark's local directories, or are in ``table_dir``.  A directory that is
    gone or full is passed over; where all are, tables are in memory and are gone after the batch.
    ``keep_s`` and ``most_bytes`` are what `collect` leaves.
    """

    def __init__(
        self,
        query: str,
        operator: str,
        table_dir: str | None = None,
        *,
        keep_s: float = HOUR_S,
        most_bytes: int | None = None,
    ) -> None:
        parents = local_directories() if table_dir is None else [table_dir]
        if table_dir is not None:
            with suppress(OSError):  # which is told below
                os.makedirs(table_dir, exist_ok=True)
        self._roots = [root for root in map(open_root, parents) if root is not None]
        self._home = f"{_directory_name(query)}/{_directory_name(operator)}"
        self._limits = Limits(keep_s, most_bytes)

    def claim(self, key_group: int, nonce: str) -> PrivateTable | None:
        """The table that holds the state `nonce`, now private; None when it is not here."""
        home = f"{self._home}/{key_group}"
        mine = f"{home}/{private_name()}"
        for root in self._preferred(key_group):
            at = root.descriptor
            try:
                os.rename(f"{home}/{nonce}", mine, src_dir_fd=at, dst_dir_fd=at)
            except OSError:
                continue
            # Only a collector can have come between.  It has the lock, and removes the table.
            descriptor = hold(root, mine)
            return None if descriptor is None else PrivateTable(key_group, root, mine, descriptor)
        return None

    def create(self, key_group: int, size: int = 0) -> PrivateTable:
        """A private directory without files, where `size` bytes may fit; else memory."""
        for root in self._preferred(key_group):
            place = root if root.is_in_place() else self._open_again(root)
            if place is not None and place.has_room(size):
                made = self._create(place, key_group)
                if made is not None:
                    return made
        return PrivateTable(key_group)

    def publish(self, table: PrivateTable, nonce: str) -> None:
        """Make a closed table findable as the state `nonce`; others of its line go away.

        Another attempt may have put the same state back before; one table of it is enough.
        """
        root, home = table.root, f"{self._home}/{table.key_group}"
        if root is None or not table.held:
            return
        table.publish(f"{home}/{nonce}")
        for other in _names(root, home):
            if other.startswith(PRIVATE) or (other != nonce and _line(other) == _line(nonce)):
                remove(root, f"{home}/{other}")

    def collect(self, *, every_s: float = 60.0) -> int:
        """Remove tables that nobody used for long, or that are too many; returns how many.

        Does nothing where a process of this machine has done so within `every_s`.
        """
        return sum(collect(root, self._limits, every_s) for root in self._roots)

    def _preferred(self, key_group: int) -> list[Root]:
        """Roots in the order in which a key group takes them: the same one in every process.

        When one goes, only its key groups go to others.
        """
        if len(self._roots) < 2:
            return list(self._roots)
        return sorted(self._roots, key=_weight(key_group))

    def _open_again(self, root: Root) -> Root | None:
        fresh = open_root(root.parent)
        if fresh is not None:
            self._roots[self._roots.index(root)] = fresh
        return fresh

    def _create(self, root: Root, key_group: int) -> PrivateTable | None:
        home = f"{self._home}/{key_group}"
        for _ in range(_TRIES):
            mine = f"{home}/{private_name()}"
            try:
                _make(root, home)
                os.mkdir(mine, 0o700, dir_fd=root.descriptor)
            except FileNotFoundError:
                continue  # a collector has removed what was empty
            except OSError:
                return None
            descriptor = hold(root, mine)
            if descriptor is not None:
                return PrivateTable(key_group, root, mine, descriptor)
        return None


def _weight(key_group: int) -> Callable[[Root], bytes]:
    """Rendezvous hashing: the directory with the least weight has the key group."""

    def weight(root: Root) -> bytes:
        return hashlib.blake2b(f"{key_group} {root.parent}".encode(), digest_size=8).digest()

    return weight


def _make(root: Root, path: str) -> None:
    """Have a directory and those around it; FileNotFoundError if the root is gone."""
    try:
        os.mkdir(path, 0o700, dir_fd=root.descriptor)
    except FileExistsError:
        return
    except FileNotFoundError:
        around = path.rpartition("/")[0]
        if not around:
            raise
        _make(root, around)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700, dir_fd=root.descriptor)


def _directory_name(text: str) -> str:
    """A user's text as the name of one directory."""
    return quote(text, safe="").replace(".", "%2E")


def _names(root: Root, path: str) -> list[str]:
    try:
        directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=root.descriptor)
    except OSError:
        return []
    try:
        return os.listdir(directory)
    finally:
        os.close(directory)
