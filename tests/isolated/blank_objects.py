"""No extension type crashes when its ``__init__`` was forgotten or ran twice, or when it is closed.

Every type of the floor is made by ``__new__`` alone, and by a subclass that does not call
``super().__init__()``; where a specimen is at hand, it is also initialised twice, or closed.  Each
gets every method called with arguments of all kinds, in a process of its own.  Methods may raise
what they like, and may wait: then a signal ends the wait.
"""

import contextlib
import faulthandler
import importlib
import itertools
import os
import pkgutil
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pyarrow as pa

import flinkish._core
from flinkish._core.columns.records import RecordReader
from flinkish._core.mailbox.mailbox import MailboxLoop, MailboxQueue
from flinkish._core.operators.keyed_process import KeyedContext, KeyedProcess, KeyedTimerService
from flinkish._core.state.keyed_state import ListCell, MapCell, ValueCell
from flinkish._core.state.named_timers import NamedTimers
from flinkish._core.state.table import StateTable

HEAP_TYPE, BASE_TYPE = 1 << 9, 1 << 10
LONGEST_CALL_S = 0.05  # of one that waits: it would wait for ever
ARGUMENTS: list[tuple[object, ...]] = [
    (),
    *itertools.product((None, 0, "a", print), repeat=1),
    *itertools.product((None, 0, "a", print), repeat=2),
    *itertools.product((None, 1), repeat=3),
    *itertools.product((None, 1), repeat=4),
]
OWN = {*dir(object)} - {"__init__"}


class Interrupted(BaseException):
    """A call has waited."""


def extension_types() -> Iterator[type]:
    """All but those of the doors for tests, which take what tests give them."""
    for found in pkgutil.walk_packages(flinkish._core.__path__, "flinkish._core."):
        module = importlib.import_module(found.name)
        for held in vars(module).values():
            if (
                isinstance(held, type)
                and held.__module__ == module.__name__
                and not held.__flags__ & HEAP_TYPE
                and not found.name.startswith("flinkish._core.testing.")
            ):
                yield held


def blanks(kind: Any) -> Iterator[Callable[[], Any]]:
    """Ways to make an object that nothing has initialised."""
    yield lambda: kind.__new__(kind)
    if kind.__flags__ & BASE_TYPE:
        forgetful = type("Forgetful", (kind,), {"__init__": lambda self, *_, **__: None})
        yield forgetful
        yield lambda: forgetful(None)
        yield lambda: forgetful(1, 1)


def opened() -> StateTable:
    table = StateTable(0, 0)
    table.add_cell("one")
    table.add_cell("two")
    table.set_current_key("key")
    return table


def closed(make: Callable[[StateTable], Any]) -> Callable[[], Any]:
    def made() -> Any:
        table = opened()
        thing = make(table)
        table.close()
        return thing

    return made


def again(kind: Any, *arguments: Callable[[], Any]) -> Callable[[], Any]:
    def made() -> Any:
        thing = kind(*(argument() for argument in arguments))
        for arguments_of_the_second in (arguments, ()):
            with contextlib.suppress(Exception):
                thing.__init__(*(argument() for argument in arguments_of_the_second))
        return thing

    return made


def keyed(table: StateTable) -> KeyedProcess:
    return KeyedProcess(table, KeyedTimerService(table), print, print, tuple, 0, 1)


def batch() -> pa.RecordBatch:
    return pa.record_batch({"a": [1, None, 3], "b": [[1], None, []]})


SPECIMENS: list[Callable[[], Any]] = [
    closed(lambda table: table),
    closed(KeyedTimerService),
    closed(lambda table: KeyedContext(table, KeyedTimerService(table))),
    closed(lambda table: ValueCell(table, 0, "value")),
    closed(lambda table: ListCell(table, 0, "list")),
    closed(lambda table: MapCell(table, 0, "map")),
    closed(lambda table: iter(MapCell(table, 0, "map").keys())),
    closed(lambda table: NamedTimers(table, 0)),
    closed(keyed),
    again(StateTable, lambda: 0),
    again(RecordReader, batch),
    again(MailboxQueue),
    again(MailboxLoop, lambda: print, MailboxQueue),
    again(lambda table: ValueCell(table, 0, "value"), opened),
    again(keyed, opened),
]


def use(make: Callable[[], Any], names: list[str]) -> int:
    """Call what has these names; how many of the calls came back with an answer or an error."""
    called = 0
    for name, arguments in itertools.product(names, ARGUMENTS):
        try:
            thing = make()
        except Exception:
            return called  # it cannot be made without what it needs: good
        # The alarm may ring while the inner `with` is left; the next one rings much later.
        with contextlib.suppress(Interrupted):
            with contextlib.suppress(Exception, Interrupted):
                signal.setitimer(signal.ITIMER_REAL, LONGEST_CALL_S, LONGEST_CALL_S)
                attribute = getattr(thing, name)
                if callable(attribute):
                    attribute(*arguments)
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        called += 1
    return called


def interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def survives(make: Callable[[], Any], names: list[str]) -> bool:
    pid = os.fork()
    if not pid:
        faulthandler.enable()
        signal.signal(signal.SIGALRM, interrupt)
        os.close(1)  # `print` is among the arguments
        use(make, names)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def main() -> None:
    crashed = []
    kinds = list(extension_types())
    assert len(kinds) > 60, kinds
    for kind in kinds:
        names = [name for name in dir(kind) if name not in OWN]
        if not all(survives(make, names) for make in blanks(kind)):
            crashed.append(f"{kind.__module__}.{kind.__qualname__}")
    for number, make in enumerate(SPECIMENS):
        thing = make()
        if not survives(make, [name for name in dir(thing) if name not in OWN]):
            crashed.append(f"specimen {number}, of {type(thing)}")
    assert not crashed, crashed


if __name__ == "__main__":
    main()
