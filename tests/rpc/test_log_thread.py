"""Log handlers are the program's code: none of them holds RPC up."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator

import pytest

from flinkish.common.errors import EndpointNotStartedError
from flinkish.rpc import RpcService
from flinkish.rpc.log_thread import LOG_THREAD, MOST, LateLogger
from tests.forking import in_a_fork
from tests.processes import python_path, ran
from tests.waiting import PATIENCE

from .rig import SOON, Counter, CounterGateway, client, far, server

__all__ = ["client", "server"]

Handle = Callable[[logging.LogRecord], None]


class Handler(logging.Handler):
    """Calls a function with each record, on whichever thread there is."""

    def __init__(self, handle: Handle) -> None:
        super().__init__()
        self.records: list[str] = []
        self._handle = handle

    def handle(self, record: logging.LogRecord) -> bool:  # nothing is caught
        self.records.append(record.getMessage())
        self._handle(record)
        return True


@pytest.fixture
def handled() -> Iterator[Callable[[Handle], Handler]]:
    """Adds a handler to the logger of RPC, which is on."""
    logger = logging.getLogger("flinkish.rpc")
    level, handlers = logger.level, list(logger.handlers)

    def add(handle: Handle) -> Handler:
        handler = Handler(handle)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        return handler

    yield add
    assert LOG_THREAD.flush(PATIENCE)
    logger.handlers[:] = handlers
    logger.setLevel(level)


def lose_a_tell(server: RpcService, client: RpcService) -> None:
    """Have the server's I/O thread log: a tell comes to an endpoint that does not run."""
    address = Counter(server, "asleep").address
    asleep = client.connect(address, CounterGateway).result(SOON)
    asleep.note(1)
    with pytest.raises(EndpointNotStartedError):  # so the tell before it has come, too
        asleep.add(1).result(SOON)


def test_a_handler_that_blocks_holds_up_no_ask(
    server: RpcService, client: RpcService, handled: Callable[[Handle], Handler]
) -> None:
    """L1."""
    begun, end = threading.Event(), threading.Event()

    def block(record: logging.LogRecord) -> None:
        begun.set()
        assert end.wait(PATIENCE)

    handler = handled(block)
    _, gateway = far(server, client)
    try:
        lose_a_tell(server, client)
        assert begun.wait(PATIENCE)
        assert gateway.add(3).result(SOON) == 3
        assert not LOG_THREAD.flush(0)
    finally:
        end.set()
    assert LOG_THREAD.flush(PATIENCE)
    assert any("asleep" in text for text in handler.records)


def test_a_handler_may_ask_an_endpoint(
    server: RpcService, client: RpcService, handled: Callable[[Handle], Handler]
) -> None:
    _, gateway = far(server, client)
    totals: list[int] = []
    handled(lambda record: totals.append(gateway.add(1).result(SOON)))
    lose_a_tell(server, client)
    assert LOG_THREAD.flush(PATIENCE)
    assert totals[:1] == [1]


def test_records_come_in_order_and_name_their_event(
    handled: Callable[[Handle], Handler],
) -> None:
    """L2; a handler that raises loses its own record alone."""
    found: list[logging.LogRecord] = []

    def raise_at_two(record: logging.LogRecord) -> None:
        found.append(record)
        if record.args == (2,):
            raise ValueError("the handler's own error")

    handled(raise_at_two)
    log = LateLogger("flinkish.rpc")
    for number in range(5):
        log.warning("event %d", number)
    try:
        raise KeyError("what")
    except KeyError:
        log.exception("an error")
    assert LOG_THREAD.flush(PATIENCE)
    assert [record.getMessage() for record in found[:5]] == [f"event {n}" for n in range(5)]
    assert {record.threadName for record in found} == {threading.current_thread().name}
    assert {record.filename for record in found} == {"test_log_thread.py"}
    assert found[5].exc_info is not None
    assert found[5].exc_info[0] is KeyError


def test_too_many_records_are_counted(handled: Callable[[Handle], Handler]) -> None:
    """L2."""
    begun, end = threading.Event(), threading.Event()

    def block(record: logging.LogRecord) -> None:
        begun.set()
        assert end.wait(PATIENCE)

    handler = handled(block)
    log = LateLogger("flinkish.rpc")
    log.warning("first")
    assert begun.wait(PATIENCE)
    for number in range(MOST + 7):
        log.warning("event %d", number)
    end.set()
    assert LOG_THREAD.flush(PATIENCE)
    log.warning("last")
    assert LOG_THREAD.flush(PATIENCE)
    told = [text for text in handler.records if "left out" in text]
    assert told == ["7 log records were left out: the program's log handlers are too slow"]
    assert len(handler.records) == MOST + 3
    assert handler.records[-1] == "last"


def test_a_level_that_is_off_costs_no_record(handled: Callable[[Handle], Handler]) -> None:
    handler = handled(lambda record: None)
    LateLogger("flinkish.rpc").debug("%s", "nobody asked")
    assert LOG_THREAD.flush(PATIENCE)
    assert handler.records == []


def test_a_forked_child_logs_its_own_records(handled: Callable[[Handle], Handler]) -> None:
    """L3."""
    begun, end = threading.Event(), threading.Event()

    def block(record: logging.LogRecord) -> None:
        begun.set()
        assert end.wait(PATIENCE)

    handler = handled(block)
    log = LateLogger("flinkish.rpc")
    log.warning("of the parent")
    log.warning("of the parent, too")
    assert begun.wait(PATIENCE)

    def child() -> None:
        end.set()
        handler.records.clear()
        log.warning("of the child")
        assert LOG_THREAD.flush(PATIENCE)
        assert handler.records == ["of the child"]

    in_a_fork(child)
    end.set()


def test_the_last_records_are_handled_at_exit() -> None:
    """L4."""
    program = (
        "import logging, sys, time\n"
        "from flinkish.rpc.log_thread import LateLogger\n"
        "class Slow(logging.StreamHandler):\n"
        "    def emit(self, record):\n"
        "        time.sleep(0.2)\n"
        "        super().emit(record)\n"
        "logging.getLogger('flinkish.rpc').addHandler(Slow(sys.stdout))\n"
        "LateLogger('flinkish.rpc').warning('the last words')\n"
    )
    env = os.environ | {"PYTHONPATH": python_path()}
    assert "the last words" in ran("-c", program, env=env).stdout
