"""Who leads: hooks for contenders, and two ways to choose one.

Electing leaders is not this package's business; giving the elected one a fencing token is.  A
contender gets a token with its leadership, makes its FencedRpcEndpoint with it, and a process that
still holds an older one is refused (Flink: FencedRpcEndpoint).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalStateError
from flinkish.common.forks import call_in_children
from flinkish.rpc.log_thread import LateLogger

__all__ = [
    "FileLeaderElection",
    "LeaderContender",
    "LeaderElection",
    "LeaderInformation",
    "SingleLeaderElection",
]

_LOG = LateLogger(__name__)
_EPOCH = re.compile(r"epoch-(\d{20})")
_KEPT = 3  # epochs whose files stay


class LeaderContender(Protocol):
    """A candidate for leadership.  One thread calls its methods, one after another.

    They may take long: the election goes on meanwhile, and a leader stays the leader.
    """

    def grant_leadership(self, token: Any) -> None:
        """It leads; everything it does as the leader carries this token."""

    def revoke_leadership(self) -> None:
        """It leads no more; whatever it still does is refused already."""

    def handle_error(self, error: Exception) -> None:
        """The election failed, or one of the methods above did."""


@dataclass(frozen=True)
class LeaderInformation:
    """Who leads: its token, and the address that it confirmed; None while it has not."""

    token: Any
    address: str | None


class LeaderElection(ABC):
    """Chooses a leader among contenders; one object for each contender."""

    @abstractmethod
    def start(self, contender: LeaderContender) -> None:
        """Take part in the election: ``contender`` is told when it is elected."""

    @abstractmethod
    def confirm_leadership(self, token: Any, address: str) -> None:
        """The leader says where it is reached; nothing happens if it leads no more."""

    @abstractmethod
    def has_leadership(self, token: Any) -> bool:
        """Whether the token is that of the leader, as far as can be seen from here."""

    @abstractmethod
    def leader(self) -> LeaderInformation | None:
        """Who leads now, None if nobody is known to."""

    @abstractmethod
    def close(self) -> None:
        """Take part no more; a leader is revoked first."""


class SingleLeaderElection(LeaderElection):
    """There is one contender, which leads at once: a single driver (Flink: standalone).

    ``tokens()`` gives its token; by default a random UUID.
    """

    def __init__(self, tokens: Callable[[], Any] = uuid.uuid4) -> None:
        self._tokens = tokens
        self._contender: LeaderContender | None = None
        self._leader: LeaderInformation | None = None

    def start(self, contender: LeaderContender) -> None:
        """Grant it leadership, in the calling thread."""
        if self._contender is not None:
            raise IllegalStateError("this election has its contender already; make another one")
        self._contender = contender
        token = self._tokens()
        self._leader = LeaderInformation(token, None)
        contender.grant_leadership(token)

    def confirm_leadership(self, token: Any, address: str) -> None:
        """Keep the address at which the leader is reached; nothing happens if it leads no more."""
        if self.has_leadership(token):
            self._leader = LeaderInformation(token, address)

    def has_leadership(self, token: Any) -> bool:
        """Whether the token is that of the leader."""
        return self._leader is not None and self._leader.token == token

    def leader(self) -> LeaderInformation | None:
        """The only contender when it has confirmed its leadership, else None."""
        return self._leader

    def close(self) -> None:
        """Revoke the leader."""
        leader, self._leader = self._leader, None
        if leader is not None and self._contender is not None:
            self._contender.revoke_leadership()


class FileLeaderElection(LeaderElection):
    """Contenders that share a directory, on one host or a file system with ``flock``.

    The token is an epoch: an int that only grows.  Epoch n is the file ``epoch-n``; the process
    that makes it leads, and only one can.  Invariants:

        L1  A file appears under its name whole, locked by its maker and on disk (a link is made
            to it when it is), before leadership is granted.  No epoch is given twice, not even
            after a crash of the machine: the newest file is never removed.
        L2  The leader keeps the lock for as long as it lives, and touches the file every third
            of ``lease``, whatever its contender does: the election's thread calls no method of
            it.  The lock is kept until ``revoke_leadership`` has returned.  A lock that is free
            means a leader that has died: the next epoch may be claimed at once.  A forked child
            of a leader lets go of the lock.
        L3  A process that is frozen keeps its lock.  So a contender that has seen the file
            untouched for all of ``lease``, on its own clock, claims the next epoch, too.
        L4  A leader that finds a newer epoch is revoked.  Until it finds it, it may believe that
            it leads: that is what the token is for.

    ``clock`` gives seconds that never go back.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        lease: DurationLike = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = Path(directory)
        self._lease = to_millis(lease, "lease", minimum=10) / 1000
        self._clock = clock
        self._contender: LeaderContender | None = None
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._threads: tuple[threading.Thread, ...] = ()
        self._touched = 0  # ns: the time of change that was last written to the file
        self._ended = threading.Event()
        self._mine: tuple[int, int] | None = None  # epoch, file descriptor
        self._lock = threading.Lock()
        self._seen: tuple[int, int] = (-1, 0)  # epoch, its last touch
        self._seen_at = 0.0  # when that was first seen, on ``clock``
        call_in_children(self)

    def start(self, contender: LeaderContender) -> None:
        """Take part: one thread runs the election, another calls the contender."""
        with self._lock:
            if self._contender is not None:
                raise IllegalStateError("this election has its contender already; make another one")
            self._contender = contender
        self._directory.mkdir(parents=True, exist_ok=True)
        self._threads = (
            threading.Thread(target=self._call_all, name="flinkish-contender", daemon=True),
            threading.Thread(target=self._run, name="flinkish-leader", daemon=True),
        )
        for thread in self._threads:
            thread.start()

    def confirm_leadership(self, token: Any, address: str) -> None:
        """Write the leader's address to its file; nothing happens if it leads no more."""
        with self._lock:
            if self._mine is not None and self._mine[0] == token:
                _write(self._mine[1], token, address)

    def has_leadership(self, token: Any) -> bool:
        """Whether no newer epoch is there."""
        return bool(self._newest() == token and token != 0)

    def leader(self) -> LeaderInformation | None:
        """The newest epoch's; it may have died a moment ago."""
        epoch = self._newest()
        if epoch == 0:
            return None
        try:
            found = json.loads(self._file(epoch).read_bytes())
        except (OSError, ValueError):  # being written
            return LeaderInformation(epoch, None)
        return LeaderInformation(epoch, found["address"])

    def close(self) -> None:
        """Give up leadership, so that another contender can take it at once.

        Returns once the contender's methods have returned, unless one of them makes this call.
        """
        self._ended.set()
        if threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()

    def _forked(self) -> None:
        """In a forked child: let go of the leader's file, or its lock would outlive the leader."""
        self._lock, self._ended = threading.Lock(), threading.Event()
        mine, self._mine = self._mine, None
        if mine is not None:
            os.close(mine[1])

    # --- the threads

    def _call_all(self) -> None:
        """Call the contender's methods until the election has ended."""
        for call in iter(self._calls.get, None):
            call()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._look()
            except Exception as error:
                _LOG.warning("the election in %s failed: %s", self._directory, error)
                self._tell("handle_error", error)
            self._ended.wait(self._lease / 3)
        self._step_down()
        self._calls.put(None)

    def _look(self) -> None:
        newest = self._newest()
        if self._mine is not None:
            if newest == self._mine[0]:
                self._touch(self._mine[1])
                return
            self._step_down()
        if self._has_no_leader(newest):
            self._claim(newest + 1)

    def _has_no_leader(self, epoch: int) -> bool:
        """Whether the leader of an epoch has died, or is silent for too long."""
        if epoch == 0:
            return True
        try:
            file = os.open(self._file(epoch), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False  # a newer one is there
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            touched = os.fstat(file).st_mtime_ns
        else:
            return True
        finally:
            os.close(file)
        now = self._clock()
        if self._seen != (epoch, touched):
            self._seen, self._seen_at = (epoch, touched), now
        return now - self._seen_at >= self._lease

    def _claim(self, epoch: int) -> None:
        """Make the file of an epoch and lead, unless another one is faster."""
        draft = self._directory / f"draft-{uuid.uuid4().hex}"
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            _write(file, epoch, None)
            os.link(draft, self._file(epoch))
            _sync_directory(self._directory)
        except FileExistsError:
            os.close(file)
            return
        except BaseException:
            os.close(file)
            raise
        finally:
            draft.unlink()
        with self._lock:
            self._mine = epoch, file
        for old in self._epochs():
            if old <= epoch - _KEPT:
                self._file(old).unlink(missing_ok=True)
        self._tell("grant_leadership", epoch)

    def _step_down(self) -> None:
        with self._lock:
            mine, self._mine = self._mine, None
        if mine is None:
            return
        revoked = threading.Event()
        self._tell("revoke_leadership")
        self._calls.put(revoked.set)
        while not revoked.wait(self._lease / 3):
            self._touch(mine[1])
        os.close(mine[1])

    def _touch(self, file: int) -> None:
        """Give a file a new time of change, also on a clock that stands still or was set back."""
        self._touched = max(time.time_ns(), self._touched + 1_000_000)
        os.utime(file, ns=(self._touched, self._touched))

    def _tell(self, what: str, *arguments: Any) -> None:
        self._calls.put(partial(self._call, what, *arguments))

    def _call(self, what: str, *arguments: Any) -> None:
        try:
            getattr(self._contender, what)(*arguments)
        except BaseException as error:
            _LOG.exception("%s of the contender %r raised", what, self._contender)
            if what != "handle_error" and isinstance(error, Exception):
                self._call("handle_error", error)

    # --- files

    def _file(self, epoch: int) -> Path:
        return self._directory / f"epoch-{epoch:020d}"

    def _epochs(self) -> list[int]:
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return []
        return sorted(int(found[1]) for name in names if (found := _EPOCH.fullmatch(name)))

    def _newest(self) -> int:
        return max(self._epochs(), default=0)


def _write(file: int, epoch: int, address: str | None) -> None:
    data = json.dumps({"token": epoch, "address": address, "pid": os.getpid()}).encode()
    os.pwrite(file, data, 0)
    os.ftruncate(file, len(data))
    os.fsync(file)


def _sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
