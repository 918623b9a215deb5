"""Sockets of the file system, for peers on the same host: cheaper than TCP, and private.

A service that listens on ``HOST:PORT`` also listens on a socket in a directory of its user, under
a name made of both and of the network namespace.  A dialler looks there first.  The directory
must belong to the user and be closed to all others (0700), and both sides ask the kernel who the
other one is; where anything of this is not so, TCP is used as if there were no such thing.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
from contextlib import suppress

__all__ = ["bind_beside", "path_beside", "prepare", "same_user"]

PATH_LIMIT = 107  # bytes of a sun_path
CREDENTIALS = struct.Struct("3i")


def _directory() -> str | None:
    """The private directory, made if need be; None if it is not private."""
    path = os.path.join(tempfile.gettempdir(), f"flinkish-rpc-{os.getuid()}")
    try:
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        found = os.lstat(path)
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    return path if private and found.st_uid == os.getuid() else None


def path_beside(host: str, port: int) -> str | None:
    """Where the socket of the service at this IP address and port is, if it is on this host."""
    directory = _directory()
    if directory is None:
        return None
    try:
        namespace = os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return None
    path = os.path.join(directory, f"{namespace}-{host}-{port}.sock")
    return path if len(path.encode()) <= PATH_LIMIT else None


def bind_beside(host: str, port: int, backlog: int) -> tuple[socket.socket, str] | None:
    """Listen beside a TCP socket that is bound already, and the path; None where it cannot be.

    Who holds the port owns the name: a file that is there is that of a process that died.
    """
    path = path_beside(host, port)
    if path is None:
        return None
    _sweep(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        with suppress(FileNotFoundError):
            os.unlink(path)
        sock.bind(path)
        sock.listen(backlog)
    except OSError:
        sock.close()
        return None
    return sock, path


def _sweep(path: str) -> None:
    """Remove names like this one whose processes died without a chance to; nobody is disturbed."""
    directory, name = os.path.split(path)
    with suppress(OSError):
        names = [f"{directory}/{found}" for found in os.listdir(directory)]
        with open("/proc/net/unix") as file:
            alive = {line.split(maxsplit=7)[-1].rstrip("\n") for line in file}
        ours = f"{directory}/{name.split('-')[0]}-"  # of this network namespace, as the table is
        for stale in names:
            if stale.startswith(ours) and stale not in alive:
                os.unlink(stale)


def prepare(sock: socket.socket) -> None:
    """Let a socket take a megabyte at once: TCP's buffers grow by themselves, these do not."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)


def same_user(sock: socket.socket) -> bool:
    """Whether the process at the other end runs as our user."""
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    _, uid, _ = CREDENTIALS.unpack(raw)
    return bool(uid == os.getuid())
