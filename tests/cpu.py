"""CPU time of processes and of all that they start: the load of a machine changes it little.

    python -m tests.cpu COMMAND …    # runs it, and says at the end what all its processes took

As a plugin of pytest this module lists, with ``--slowest N``, the tests that took most.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PROC = Path("/proc")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
LOOK_S = 0.05  # a test that is over sooner has started no process that is worth a look
ENOUGH_TO_END_S = 20.0
PR_SET_CHILD_SUBREAPER = 36


class Cpu(NamedTuple):
    """Seconds in programs, and in the kernel for them."""

    user: float = 0.0
    system: float = 0.0

    @property
    def total(self) -> float:
        return self.user + self.system

    def plus(self, other: Cpu) -> Cpu:
        return Cpu(self.user + other.user, self.system + other.system)

    def since(self, before: Cpu) -> Cpu:
        """Never less than nothing: what a killed process took is lost if its parent ignores it."""
        return Cpu(max(0.0, self.user - before.user), max(0.0, self.system - before.system))


def of_this_process() -> Cpu:
    """With the processes that it started and that have ended."""
    user, system, ended_user, ended_system, _ = os.times()
    return Cpu(user + ended_user, system + ended_system)


def of_running_processes() -> Cpu:
    """Of those that this process started, directly or not, with those that they started."""
    spent: dict[int, Cpu] = {}
    started: dict[int, list[int]] = defaultdict(list)
    for entry in PROC.glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        user, system, ended_user, ended_system = (TICK_S * int(field) for field in fields[11:15])
        spent[int(entry.name)] = Cpu(user + ended_user, system + ended_system)
        started[int(fields[1])].append(int(entry.name))
    waiting, total = started[os.getpid()], Cpu()
    while waiting:
        process = waiting.pop()
        total = total.plus(spent[process])
        waiting = waiting + started[process]
    return total


class Slowest:
    """Takes the CPU time of each test, from its setup to its teardown, in all processes.

    Processes that outlive a test, as Spark's do, count for the test during which they work; the
    first test that needs a session pays for its start.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._running = of_running_processes()
        self._tests: list[tuple[str, float, float]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[object]:
        before, begin = of_this_process().plus(self._running), time.monotonic()
        result = yield
        if time.monotonic() - begin > LOOK_S:
            self._running = of_running_processes()
        self._tests.append((item.nodeid, *of_this_process().plus(self._running).since(before)))
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand them over, if this is a process of xdist."""
        output = getattr(session.config, "workeroutput", {})
        output["cpu"] = self._tests

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take those of a process of xdist."""
        self._tests += getattr(node, "workeroutput", {}).get("cpu", [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for name, *spent in self._tests:
            files[name.split("::")[0]].append((spent[0], spent[1]))
        whole = [
            (name, sum(user), sum(system))
            for name, (user, system) in (
                (name, zip(*spent, strict=True)) for name, spent in files.items()
            )
        ]
        for title, spent in (("tests", self._tests), ("files", whole)):
            terminalreporter.section(f"{title} by CPU seconds: user + system")
            for name, user, system in sorted(spent, key=lambda e: -e[1] - e[2])[: self._count]:
                terminalreporter.write_line(f"{user:7.2f} + {system:6.2f}  {name}")


def run(command: list[str]) -> tuple[int, Cpu]:
    """Run a command to its end; its exit status, and what it and all that it started took.

    Processes whose parent ends become children of this one, so that none is lost.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    process = os.posix_spawnp(command[0], command, os.environ)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the command, too
    signal.signal(signal.SIGTERM, lambda *_: os.kill(process, signal.SIGTERM))
    ended, status = 0, 0
    while ended != process:  # others are its orphans
        ended, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    return (code if code >= 0 else 128 - code), with_orphans()


def with_orphans() -> Cpu:
    """Of all processes that there were, the last of which have some time to end."""
    deadline = time.monotonic() + ENOUGH_TO_END_S
    try:
        while time.monotonic() < deadline:
            ended, _ = os.waitpid(-1, os.WNOHANG)
            time.sleep(0 if ended else 0.05)
        print("some processes that were started have not ended", file=sys.stderr)
    except ChildProcessError:  # no more
        pass
    return of_this_process().plus(of_running_processes())


def minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def main() -> int:
    status, spent = run(sys.argv[1:])
    print(
        f"CPU of all processes: {minutes(spent.total)} min "
        f"({minutes(spent.user)} in programs, {minutes(spent.system)} in the kernel)",
        file=sys.stderr,
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
