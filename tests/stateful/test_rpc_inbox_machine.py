"""An endpoint against a list of letters: random calls, controls and turns."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from flinkish.common.errors import EndpointNotStartedError, RecipientUnreachableError
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService
from tests.models.rpc_inbox import InboxModel

LONG = 600  # seconds: however long the steps of a machine take


class SumGateway(RpcGateway):
    def add(self, n: int) -> Future[int]: ...
    def note(self, n: int) -> None: ...


class Sum(RpcEndpoint, SumGateway):
    def __init__(self, service: RpcService) -> None:
        super().__init__(service, "sum")
        self.total = 0
        self.events: list[str] = []

    def on_start(self) -> None:
        self.events.append("start")

    def on_stop(self) -> None:
        self.events.append("stop")

    def add(self, n: int) -> Any:
        self.total += n
        return self.total

    def note(self, n: int) -> None:
        self.total += n


class InboxMachine(RuleBasedStateMachine):
    """The only dispatcher thread is held while letters are put, so the model knows what waits."""

    def __init__(self) -> None:
        super().__init__()
        self.service = RpcService(
            "machine", dispatcher_threads=1, mails_per_turn=3, ask_timeout="1 hour"
        )
        self.holder = Sum.__new__(Sum)
        RpcEndpoint.__init__(self.holder, self.service, "holder")
        self.holder.events = []
        self.holder.start()
        self.sum = Sum(self.service)
        self.gateway = self.sum.get_self_gateway(SumGateway)
        self.model = InboxModel()
        self.futures: list[Any] = []
        self.hold()

    def hold(self) -> None:
        self.gate = threading.Event()
        held = threading.Event()
        gate = self.gate

        def wait() -> None:
            held.set()
            gate.wait(LONG)

        self.holder.run_async(wait)
        assert held.wait(LONG)

    @rule(n=st.integers(-5, 5))
    def ask(self, n: int) -> None:
        self.model.put((len(self.futures), n))
        self.futures.append(self.gateway.add(n))

    @rule(n=st.integers(-5, 5))
    def tell(self, n: int) -> None:
        self.model.put((None, n))
        self.gateway.note(n)

    @rule()
    def start(self) -> None:
        self.model.put("start")
        self.sum.start()

    @rule()
    def stop(self) -> None:
        self.model.put("stop")
        self.sum.stop()

    @precondition(lambda self: len(self.futures) > 3)
    @rule()
    def close(self) -> None:
        self.model.put("close")
        self.sum.close_async()

    @rule()
    def deliver(self) -> None:
        """Let the thread go until it has done all that waits."""
        self.model.deliver()
        self.gate.set()
        done = threading.Event()
        while self.sum._inbox.size or not done.is_set():
            done.clear()
            self.holder.run_async(done.set)
            assert done.wait(LONG)
        for number, future in enumerate(self.futures):
            error = future.exception(LONG)
            expected = self.model.outcomes[number]
            if expected == "not started":
                assert isinstance(error, EndpointNotStartedError)
            elif expected == "unreachable":
                assert isinstance(error, RecipientUnreachableError)
            else:
                assert future.result() == expected
        assert self.sum.total == self.model.total
        assert self.sum.events == self.model.events
        assert len(self.service.dead_letters) == self.model.dead
        assert self.sum.termination_future.done() == (self.model.state == "terminated")
        self.hold()

    @invariant()
    def nothing_happens_while_it_is_held(self) -> None:
        assert self.sum._inbox.size == len(self.model.waiting)

    def teardown(self) -> None:
        self.deliver()
        self.gate.set()
        self.service.close_async().result(LONG)


InboxTest = pytest.mark.stress(InboxMachine.TestCase)
