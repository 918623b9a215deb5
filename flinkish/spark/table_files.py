"""Tables on a worker's disk: a cache of state whose truth is Spark's.

A table is a directory of files, named by the nonce of the state that it holds.  Whoever wants
to use it renames it to a private name first, changes it, and renames it to the nonce of the
new state, which the same batch writes to Spark.  So no change is ever visible under an old
nonce: a retry, a rollback, a zombie or a copy of the checkpoint simply finds nothing and
builds the table from the log.

Layout: ROOT/BOOT/QUERY/OPERATOR/KEY_GROUP/NONCE/FILE.  The boot id is in the path because
files that a crash of the machine may have torn must not be believed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from flinkish._core.state_table import FILES

__all__ = ["PrivateTable", "TableFiles", "new_nonce"]

_PRIVATE = "."
_ABANDONED_AFTER_S = 7 * 24 * 3600.0


def new_nonce(before: str = "") -> str:
    """A name that no state ever had, in the line of the state before it.

    Lines tell apart the states of queries that have the same path, as where Spark does not tell
    a worker its query.
    """
    return f"{_line(before) or secrets.token_hex(4)}-{secrets.token_hex(12)}"


def _line(nonce: str) -> str:
    return nonce.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A table directory that nobody else can find."""

    key_group: int
    path: Path

    def open(self, *, create: bool) -> list[int]:
        """Descriptors of its files, for `StateTable.map`, which takes them over."""
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
        descriptors: list[int] = []
        directory = str(self.path)
        try:
            for name in FILES:
                descriptors.append(os.open(f"{directory}/{name}", flags, 0o600))
        except OSError:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        return descriptors


class TableFiles:
    """The tables of one operator of one query on this machine."""

    def __init__(self, query: str, operator: str, root: str | None = None) -> None:
        self._base = Path(root or default_root())
        self._home = self._base / boot_id() / query / _directory_name(operator)

    def claim(self, key_group: int, nonce: str) -> PrivateTable | None:
        """The table that holds the state `nonce`, now private; None when it is not here."""
        mine = self._private(key_group)
        try:
            (self._home / str(key_group) / nonce).rename(mine)
        except OSError:
            return None
        return PrivateTable(key_group, mine)

    def create(self, key_group: int) -> PrivateTable:
        """A private directory without files."""
        mine = self._private(key_group)
        mine.mkdir(parents=True, mode=0o700)
        return PrivateTable(key_group, mine)

    def publish(self, table: PrivateTable, nonce: str) -> None:
        """Make a closed table findable as the state `nonce`; others of its line go away.

        Another attempt may have put the same state back before; one table of it is enough.
        """
        home = table.path.parent
        try:
            table.path.rename(home / nonce)
        except OSError:
            self.discard(table)
        for other in _names(home):
            if other.startswith(_PRIVATE):
                unwanted = _is_orphan(other)
            else:
                unwanted = other != nonce and _line(other) == _line(nonce)
            if unwanted:
                self._remove(home / other)

    def discard(self, table: PrivateTable) -> None:
        """Remove a private table that cannot be used."""
        shutil.rmtree(table.path, ignore_errors=True)

    def collect(self) -> int:
        """Remove what earlier boots and queries long gone left; returns directories removed."""
        removed = 0
        for boot in _entries(self._base):
            if boot.name != boot_id():
                removed += self._remove(boot)
                continue
            for query in _entries(boot):
                newest = max(
                    (_changed(path) for path in query.glob("*/*")), default=_changed(query)
                )
                if query != self._home.parent and time.time() - newest > _ABANDONED_AFTER_S:
                    removed += self._remove(query)
        return removed

    def _private(self, key_group: int) -> Path:
        owner = f"{_PRIVATE}{_me(os.getpid())}-{secrets.token_hex(8)}"
        return self._home / str(key_group) / owner

    def _remove(self, path: Path) -> int:
        # Out of sight first: whoever would claim it must not get half of it.
        trash = path.parent / f"{_PRIVATE}trash-{secrets.token_hex(8)}"
        try:
            path.rename(trash)
        except OSError:
            return 0
        shutil.rmtree(trash, ignore_errors=True)
        return 1


def default_root() -> str:
    """Where tables go: beside Spark's own local files on this worker, else with temporary ones."""
    local = os.environ.get("SPARK_LOCAL_DIRS") or os.environ.get("LOCAL_DIRS") or ""
    first = Path(local.split(",")[0].strip() or tempfile.gettempdir())
    # Spark gives workers the directory of one application's blocks, which goes away with it.
    if first.name.startswith("blockmgr-"):
        first = first.parent
    return str(first / f"flinkish-{os.getuid()}")


def boot_id() -> str:
    """An id of this boot of the machine; of this process where the system tells none."""
    global _boot
    if _boot is None:
        try:
            _boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            _boot = f"process-{os.getpid()}-{secrets.token_hex(8)}"
    return _boot


_boot: str | None = None


def _directory_name(text: str) -> str:
    """A user's text as the name of one directory."""
    return quote(text, safe="").replace(".", "%2E")


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _entries(directory: Path) -> Iterator[Path]:
    return (directory / name for name in _names(directory))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()


def _is_orphan(private: str) -> bool:
    """Whether a private directory of this name belongs to a process that is gone."""
    owner = private.lstrip(_PRIVATE).split("-")
    if owner[0] == "trash":
        return True
    return not owner[0].isdigit() or _started(int(owner[0])) != owner[1]


@lru_cache(maxsize=1)
def _me(process: int) -> str:
    """This process as an owner; a fork is another one."""
    return f"{process}-{_started(process)}"


def _started(process: int) -> str:
    """When a process started, in the system's ticks; process ids come again, this does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return "gone"
