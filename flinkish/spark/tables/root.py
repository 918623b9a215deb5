"""Roots: directories of this user alone, inside of directories that others may use, too."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

__all__ = ["OPEN_DIRECTORY", "Root", "boot_id", "local_directories", "open_own", "open_root"]

_LOG = logging.getLogger("flinkish.spark.tables")

# A symbolic link in the place of a directory is refused.
OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_ROOM_BYTES = 1 << 20
_ROOM_FILES = 64
_refused: set[str] = set()  # roots that were warned of


class Root:
    """An open root; while a process has it open, it holds a shared lock on it.

    All work goes through ``descriptor``: a process that may rename things in the directory around
    the root could otherwise put another one in its place between check and use.
    """

    def __init__(self, parent: str, name: str, descriptor: int) -> None:
        self.parent = parent
        self.path = f"{parent}/{name}"
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)

    def is_in_place(self) -> bool:
        """Whether the directory is still where it was: it is a cache, which anyone may delete."""
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self.descriptor))

    def has_room(self, size: int) -> bool:
        """Whether a table of so many bytes has a chance to fit."""
        status = os.statvfs(self.descriptor)
        free = status.f_bavail * status.f_frsize
        files = status.f_favail if status.f_files else _ROOM_FILES  # some systems count none
        return free >= size + _ROOM_BYTES and files >= _ROOM_FILES

    def file_system_bytes(self) -> int:
        """How large the file system is."""
        status = os.statvfs(self.descriptor)
        return status.f_blocks * status.f_frsize


def open_root(parent: str) -> Root | None:
    """The root in an existing directory, made if need be; None if there can be none.

    Where somebody else was faster to take the name, or where the directory of that name is open
    to others, the root is one with a name that nobody could foresee.
    """
    name = f"flinkish-{os.geteuid()}-{boot_id()}"
    try:
        with suppress(FileExistsError):
            os.mkdir(f"{parent}/{name}", 0o700)
        return _owned(parent, name) or _other_root(parent, name)
    except OSError as error:
        _warn(f"{parent}/{name}", f"no tables are kept in {parent}: {error}")
        return None


def open_own(path: str, lock: int) -> int | None:
    """A locked descriptor of a directory that is this user's alone.

    None if it is not, or cannot be locked at once.
    """
    try:
        descriptor = os.open(path, OPEN_DIRECTORY)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
            fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _owned(parent: str, name: str) -> Root | None:
    descriptor = open_own(f"{parent}/{name}", fcntl.LOCK_SH)
    return None if descriptor is None else Root(parent, name, descriptor)


def _other_root(parent: str, taken: str) -> Root:
    """The root of a user's processes for whom `taken` will not do; OSError if none does."""
    _warn(
        f"{parent}/{taken}",
        f"{parent}/{taken} is not a directory of this user alone (owner {os.geteuid()}, mode 0700, "
        f"no link, on a file system with locks), so tables go to another one in {parent}; remove "
        "it, or name a directory of your own in StateSettings(table_dir=...)",
    )
    found = _first_owned(parent, taken)
    if found is None:
        # All processes take the first in order, also when two made one at a time.
        made = tempfile.mkdtemp(prefix=f"{taken}-", dir=parent)
        found = _first_owned(parent, taken)
        if found is None or found.path != made:
            os.rmdir(made)
    if found is None:
        raise OSError(f"a directory that was made in {parent} cannot be locked")
    return found


def _first_owned(parent: str, taken: str) -> Root | None:
    for name in sorted(os.listdir(parent)):
        if name.startswith(f"{taken}-"):
            found = _owned(parent, name)
            if found is not None:
                return found
    return None


def _warn(path: str, text: str) -> None:
    if path not in _refused:
        _refused.add(path)
        _LOG.warning("%s", text)


def local_directories() -> list[str]:
    """Where tables go: beside Spark's own local files on this worker, else with temporary ones."""
    local = os.environ.get("SPARK_LOCAL_DIRS") or os.environ.get("LOCAL_DIRS") or ""
    found = [Path(name.strip()) for name in local.split(",") if name.strip()]
    # Spark gives workers the directories of one application's blocks, which go away with it.
    plain = [path.parent if path.name.startswith("blockmgr-") else path for path in found]
    return list(dict.fromkeys(map(str, plain))) or [tempfile.gettempdir()]


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
