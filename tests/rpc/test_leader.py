"""Leadership and its tokens."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from flinkish.common.errors import IllegalArgumentError, IllegalStateError
from flinkish.rpc import RpcService
from flinkish.rpc.leader import FileLeaderElection, LeaderInformation, SingleLeaderElection
from tests.forking import in_a_fork
from tests.processes import freeze, thaw
from tests.waiting import until

from .peer import LEASE_S, Ledger, Watchful
from .rig import SOON

SECRET = "a secret of the tests"


class Contender:
    def __init__(self) -> None:
        self.events: list[Any] = []

    def grant_leadership(self, token: Any) -> None:
        self.events.append(token)

    def revoke_leadership(self) -> None:
        self.events.append("revoked")

    def handle_error(self, error: Exception) -> None:
        self.events.append(error)


def test_a_single_driver_leads_at_once() -> None:
    contender = Contender()
    election = SingleLeaderElection()
    assert election.leader() is None
    election.start(contender)
    (token,) = contender.events
    assert isinstance(token, uuid.UUID)
    assert election.has_leadership(token)
    assert election.leader() == LeaderInformation(token, None)
    election.confirm_leadership(uuid.uuid4(), "elsewhere")
    election.confirm_leadership(token, "here")
    assert election.leader() == LeaderInformation(token, "here")
    with pytest.raises(IllegalStateError):
        election.start(Contender())
    election.close()
    election.close()
    assert contender.events == [token, "revoked"]
    assert not election.has_leadership(token)


def test_tokens_come_from_the_supplier() -> None:
    contender = Contender()
    SingleLeaderElection(iter(range(7, 9)).__next__).start(contender)
    assert contender.events == [7]


@pytest.fixture
def elections(tmp_path: Path) -> Iterator[list[FileLeaderElection]]:
    made = [Watchful(tmp_path / "who") for _ in range(3)]
    yield made
    for election in made:
        election.close()


def test_one_leads_and_the_next_follows_when_it_leaves(elections: list[FileLeaderElection]) -> None:
    contenders = [Contender() for _ in elections]
    assert elections[0].leader() is None
    for election, contender in zip(elections, contenders, strict=True):
        election.start(contender)
    tokens = []
    for left in (3, 2, 1):
        until(lambda: any(c.events and c.events[-1] != "revoked" for c in contenders))
        leading = [i for i, c in enumerate(contenders) if c.events and c.events[-1] != "revoked"]
        assert len(leading) == 1
        leader = elections[leading[0]]
        token = contenders[leading[0]].events[-1]
        tokens.append(token)
        leader.confirm_leadership(token, f"address {left}")
        assert all(e.leader() == LeaderInformation(token, f"address {left}") for e in elections)
        assert leader.has_leadership(token)
        leader.close()
        assert contenders[leading[0]].events[-1] == "revoked"
    assert tokens == sorted(set(tokens))
    assert tokens == [1, 2, 3]


def test_a_forked_child_keeps_no_lock_of_a_leader(tmp_path: Path) -> None:
    election = FileLeaderElection(tmp_path, lease="1 hour")
    contender, next_one = Contender(), Contender()
    election.start(contender)
    until(lambda: contender.events)
    begun, ended = os.pipe(), os.pipe()

    def child() -> None:
        os.write(begun[1], b"!")
        os.read(ended[0], 1)

    thread = threading.Thread(target=in_a_fork, args=(child,))
    thread.start()
    os.read(begun[0], 1)
    election.close()
    follower = FileLeaderElection(tmp_path, lease="1 hour")
    follower.start(next_one)
    try:
        until(lambda: next_one.events)
        assert next_one.events == [2]
    finally:
        os.write(ended[1], b"!")
        thread.join()
        follower.close()
        for end in (*begun, *ended):
            os.close(end)


def test_epochs_grow_over_restarts(tmp_path: Path) -> None:
    for expected in range(1, 8):
        contender = Contender()
        election = FileLeaderElection(tmp_path)
        election.start(contender)
        until(lambda contender=contender: contender.events)  # type: ignore[misc]
        election.close()
        assert contender.events == [expected, "revoked"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"epoch-{epoch:020d}" for epoch in (5, 6, 7)
    ]


def test_no_epoch_is_given_twice(tmp_path: Path) -> None:
    """L1: many contenders claim at once."""
    contenders = [Contender() for _ in range(12)]
    elections = [FileLeaderElection(tmp_path, lease=10_000) for _ in contenders]
    for election, contender in zip(elections, contenders, strict=True):
        election._contender = contender
    start = threading.Barrier(len(elections))

    def claim(election: FileLeaderElection) -> None:
        start.wait()
        election._claim(1)

    threads = [threading.Thread(target=claim, args=(election,)) for election in elections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for election in elections:
        threading.Thread(target=election._call_all, daemon=True).start()
    until(lambda: any(contender.events for contender in contenders))
    assert sorted(len(contender.events) for contender in contenders) == [0] * 11 + [1]
    for election in elections:
        election._step_down()
        election._calls.put(None)
    assert [path.name for path in tmp_path.iterdir()] == [f"epoch-{1:020d}"]


def test_a_contender_that_fails_hears_of_it(tmp_path: Path, caplog: Any) -> None:
    class Fails(Contender):
        def grant_leadership(self, token: Any) -> None:
            raise OSError("cannot lead")

    contender = Fails()
    election = FileLeaderElection(tmp_path, lease=100)
    with caplog.at_level(50):
        election.start(contender)
        until(lambda: contender.events)
        election.close()
    assert isinstance(contender.events[0], OSError)
    with pytest.raises(IllegalStateError):
        election.start(contender)
    with pytest.raises(IllegalArgumentError):
        FileLeaderElection(tmp_path, lease=0)


class Slow(Contender):
    """Its methods take until they are told to end."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def grant_leadership(self, token: Any) -> None:
        super().grant_leadership(token)
        assert self.go_on.wait(SOON)

    def revoke_leadership(self) -> None:
        super().revoke_leadership()
        assert self.go_on.wait(SOON)


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[list[FileLeaderElection], list[Slow], list[float]]]:
    """Elections that look when the test says so, on a clock that the test moves."""
    now = [0.0]
    elections, contenders = [], [Slow() for _ in range(3)]
    for contender in contenders:
        election = FileLeaderElection(tmp_path, lease="10 seconds", clock=lambda: now[0])
        election._contender = contender
        threading.Thread(target=election._call_all, daemon=True).start()
        elections.append(election)
    yield elections, contenders, now
    for election, contender in zip(elections, contenders, strict=True):
        contender.go_on.set()
        election._step_down()
        election._calls.put(None)


def test_a_grant_that_outlasts_the_lease_keeps_the_leadership(
    three: tuple[list[FileLeaderElection], list[Slow], list[float]],
) -> None:
    """L2: nobody renewed it, so that the next contender took over, and the next, for ever."""
    elections, contenders, now = three
    for _ in range(40):
        for election in elections:
            election._look()
        until(lambda: contenders[0].events)
        now[0] += 10 / 3
    assert [contender.events for contender in contenders] == [[1], [], []]
    elections[0].confirm_leadership(1, "here")
    contenders[0].go_on.set()
    assert elections[2].leader() == LeaderInformation(1, "here")


def test_a_leader_that_is_revoked_slowly_is_replaced_after_it(
    three: tuple[list[FileLeaderElection], list[Slow], list[float]],
) -> None:
    elections, contenders, now = three
    elections[0]._lease = 0.01  # it renews in real time
    contenders[0].go_on.set()
    elections[0]._look()
    until(lambda: contenders[0].events)
    contenders[0].go_on.clear()
    leaving = threading.Thread(target=elections[0]._step_down)
    leaving.start()
    until(lambda: contenders[0].events == [1, "revoked"])
    file = elections[0]._file(1)
    for _ in range(5):
        before = file.stat().st_mtime_ns
        until(lambda before=before: file.stat().st_mtime_ns != before)  # type: ignore[misc]
        elections[1]._look()
        now[0] += 9
    assert contenders[1].events == []
    contenders[0].go_on.set()
    leaving.join(SOON)
    elections[1]._look()
    until(lambda: contenders[1].events == [2])


def test_a_contender_may_close_its_election(tmp_path: Path) -> None:
    class Leaves(Contender):
        def grant_leadership(self, token: Any) -> None:
            super().grant_leadership(token)
            election.close()

    contender = Leaves()
    election = FileLeaderElection(tmp_path)
    election.start(contender)
    until(lambda: contender.events == [1, "revoked"])
    election.close()
    assert not any(thread.is_alive() for thread in election._threads)


class Process:
    """A contender in a process of its own; ``said`` is what it printed."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.rpc.peer", *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self.now = 0.0
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip())

    def says(self, text: str, after: int = 0) -> bool:
        return any(text in line for line in self.said[after:])

    def let_pass(self, seconds: float) -> None:
        """On its own clock, after it has seen how things are now."""
        self.now += seconds
        assert self.process.stdin is not None
        print(seconds, file=self.process.stdin, flush=True)
        until(lambda: self.says(f"it is {self.now}"))

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def _touched(directory: Path) -> int:
    """When the first leader renewed its lease."""
    return (directory / f"epoch-{1:020d}").stat().st_mtime_ns


@pytest.mark.stress
def test_a_frozen_leader_is_replaced_and_refused_when_it_wakes(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """L3, L4; E.26."""
    with ExitStack() as stack:
        service = stack.enter_context(RpcService("ledgers", host="127.0.0.1", secret=SECRET))
        # The pattern is what both connect to: the ledger that runs.
        address = service.address_of("ledger-*")
        arguments = ("lead", str(tmp_path), SECRET, address)
        watcher = FileLeaderElection(tmp_path)
        first = stack.enter_context(Process(environment, *arguments))
        until(lambda: first.says("granted 1"))
        ledger = Ledger(service, 1)
        ledger.start()
        until(lambda: first.says("recorded 1"))
        second = stack.enter_context(Process(environment, *arguments))
        for _ in range(4):
            renewed = _touched(tmp_path)
            until(lambda renewed=renewed: _touched(tmp_path) != renewed)  # type: ignore[misc]
            second.let_pass(LEASE_S / 2)
        assert not second.says("granted")
        freeze(first.process)
        # Its lock is still held, its lease is not renewed.
        second.let_pass(LEASE_S)
        until(lambda: second.says("granted 2"))
        leader = watcher.leader()
        assert leader is not None
        assert leader.token == 2
        ledger.close_async().result(SOON)
        entered = len(ledger.entries)
        ledger = Ledger(service, 2)
        ledger.start()
        until(lambda: second.says("recorded 2"))
        before = len(first.said)
        thaw(first.process)
        until(lambda: first.says("refused 1 RemoteFencingTokenError", before))
        until(lambda: first.says("revoked 1"))
        refusal = next(line for line in first.said[before:] if "RemoteFencingTokenError" in line)
        assert "token 1, and the endpoint's is 2" in refusal
        assert sum("recorded" in line for line in first.said) <= entered
        assert {*ledger.entries} == {"leader 2"}
        assert not second.says("revoked")
        # One that dies is replaced without waiting for its lease, for no time passes on the clock
        # of the woken one, which contends again.
        second.process.kill()
        until(lambda: first.says("granted 3"))
