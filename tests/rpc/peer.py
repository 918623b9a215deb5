"""Other processes for tests: run with `python -m tests.rpc.peer ROLE ...`; they say what they do.

serve NAME SECRET            a Counter; prints its address, ends with its input
lead DIRECTORY SECRET ADDRESS   contends; as leader records itself in the ledger, over and over
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future
from typing import Any

from flinkish.rpc import FencedRpcEndpoint, FencedRpcGateway, RpcService
from flinkish.rpc.leader import FileLeaderElection

from .rig import SOON, Counter

# A leader that gets no processor for so long is dead to the others.  Who contends looks, and who
# leads renews, three times as often; so what is a pause of a busy machine must fit into two thirds.
LEASE_MS = 6_000


class LedgerGateway(FencedRpcGateway[int]):
    def record(self, who: str) -> Future[int]: ...


class Ledger(FencedRpcEndpoint, LedgerGateway):
    def __init__(self, service: RpcService, token: int) -> None:
        super().__init__(service, f"ledger-{token}", token)
        self.entries: list[str] = []

    def record(self, who: str) -> Any:
        self.entries.append(who)
        return len(self.entries)


def say(*words: object) -> None:
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
    contender = Contender()
    election = FileLeaderElection(directory, lease=LEASE_MS)
    election.start(contender)
    with RpcService("contender", secret=secret) as service:
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
    {"serve": serve, "lead": lead}[sys.argv[1]](*sys.argv[2:])
