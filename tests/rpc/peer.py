"""Other processes for tests: run with `python -m tests.rpc.peer ROLE ...`; they say what they do.

serve NAME SECRET            a Counter; prints its address, ends with its input
lead DIRECTORY SECRET ADDRESS   contends; as leader records itself in the ledger, over and over;
                                its time is a Clock that hears its input
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from flinkish.rpc import FencedRpcEndpoint, FencedRpcGateway, RpcService
from flinkish.rpc.leader import FileLeaderElection
from tests.waiting import until

from .patience import patient
from .rig import SOON, Counter

LEASE_S = 3_600  # a leader that gets no processor for so long is dead to the others


class LedgerGateway(FencedRpcGateway[int]):
    def record(self, who: str) -> Future[int]: ...


class Ledger(FencedRpcEndpoint, LedgerGateway):
    def __init__(self, service: RpcService, token: int) -> None:
        super().__init__(service, f"ledger-{token}", token)
        self.entries: list[str] = []

    def record(self, who: str) -> Any:
        self.entries.append(who)
        return len(self.entries)


class Restless(threading.Event):
    """Its waits are short."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0.02)


class Watchful(FileLeaderElection):
    """One that looks, or renews, all the time: three times a lease would be too rare for tests."""

    def __init__(self, directory: str | Path, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(directory, lease=LEASE_S * 1000, clock=clock)
        self._ended = Restless()


class Clock:
    """The time of a contender that waits: it stands still but for what its input says, in seconds.

    Before they pass the contender has seen all that there was to see.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0

    def monotonic(self) -> float:
        """Called once in each look at a leader."""
        self.looks += 1
        return self.now

    def follow(self) -> None:
        for line in sys.stdin:
            seen = self.looks + 2
            until(lambda seen=seen: self.looks >= seen)  # type: ignore[misc]
            self.now += float(line)
            say("it is", self.now)


_saying = threading.Lock()


def say(*words: object) -> None:
    with _saying:  # two lines of two threads are not mixed
        print(*words, flush=True)


def serve(name: str, secret: str) -> None:
    with RpcService(name, host="127.0.0.1", secret=secret) as service:
        counter = Counter(service)
        counter.start()
        say(counter.address)
        sys.stdin.read()


class Contender:
    token: int | None = None

    def grant_leadership(self, token: int) -> None:
        say("granted", token)
        self.token = token

    def revoke_leadership(self) -> None:
        say("revoked", self.token)

    def handle_error(self, error: Exception) -> None:
        say("error", error)


def lead(directory: str, secret: str, address: str) -> None:
    contender, clock = Contender(), Clock()
    threading.Thread(target=clock.follow, daemon=True).start()
    election = Watchful(directory, clock.monotonic)
    with RpcService("contender", secret=secret) as service:
        election.start(contender)
        while True:
            time.sleep(0.01)
            token = contender.token
            if token is None:
                continue
            try:
                # It goes on even when it was revoked, as a program that hangs in a loop would.
                ledger = service.connect(address, LedgerGateway, token).result(SOON)
                ledger.record(f"leader {token}").result(SOON)
                say("recorded", token)
            except Exception as error:
                say("refused", token, type(error).__name__, str(error).replace("\n", " "))


if __name__ == "__main__":
    with patient():
        {"serve": serve, "lead": lead}[sys.argv[1]](*sys.argv[2:])
