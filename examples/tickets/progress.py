"""How a job gets on, shown on the driver while it runs: workers report by flinkish.rpc."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService

EVERY_S = 0.25  # seconds between two reports of a worker
LINE_S = 5.0  # and between two lines where there is no terminal


class BoardGateway(RpcGateway):
    """What workers tell the driver."""

    def report(self, counts: dict[str, int]) -> None:
        """So many attempts ended like this since the last report."""


@dataclass(frozen=True)
class BoardAddress:
    """Where the board hangs, and the secret that lets one write on it."""

    address: str
    secret: str


class Board(RpcEndpoint, BoardGateway):
    """Sums up what workers report."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(16)
        self.served = RpcService("board", host="127.0.0.1", secret=self.secret)
        super().__init__(self.served, "board")
        self.counts: Counter[str] = Counter()
        self.start()

    def report(self, counts: dict[str, int]) -> None:
        """As declared."""
        self.counts.update(counts)

    def whereabouts(self) -> BoardAddress:
        """What workers need."""
        return BoardAddress(self.address, self.secret)

    def close(self) -> None:
        """Take it down."""
        self.served.close_async().result(10)


class Reporter:
    """A worker's side: counts, and reports now and then."""

    def __init__(self, board: BoardAddress) -> None:
        self.service = RpcService("worker", secret=board.secret)
        self.gateway = self.service.connect(board.address, BoardGateway).result(30)
        self.counts: Counter[str] = Counter()
        self.reported = time.monotonic()

    def count(self, what: str) -> None:
        """One more."""
        self.counts[what] += 1
        if time.monotonic() - self.reported >= EVERY_S:
            self.report()

    def report(self) -> None:
        """Tell what was counted."""
        counts, self.counts = self.counts, Counter()
        self.reported = time.monotonic()
        self.gateway.report(dict(counts))

    def close(self) -> None:
        """Tell the rest."""
        self.report()
        self.service.close_async().result(10)


class Watch:
    """Shows a board on a thread of its own, with rate, errors and time to go.

    A bar in a terminal; elsewhere, as in a log, a line now and then.  ``known`` tickets have their
    answer before the job begins.
    """

    def __init__(self, board: Board, total: int, known: int, console: Console) -> None:
        self.board = board
        self.total = total
        self.known = known
        self.console = console
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.show, name="watch")

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()

    def show(self) -> None:
        """Until the end."""
        columns = (BarColumn(32), TextColumn("{task.percentage:>3.0f} %  {task.description}"))
        console = self.console
        began = lined = time.monotonic()
        pace: list[tuple[float, int]] = []  # of the last seconds
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            bar = progress.add_task("starting Spark's Python workers …", total=self.total)
            while not self.ended.wait(0.25):
                now = time.monotonic()
                answered = self.board.counts["answered"]
                pace = [(at, count) for at, count in pace if at > now - LINE_S] + [(now, answered)]
                if not answered:
                    continue
                text = self.text(answered, pace)
                progress.update(bar, completed=self.known + answered, description=text)
                if not console.is_terminal and now - lined >= LINE_S:
                    lined = now
                    console.print(f"  {now - began:5.0f} s  {text}", highlight=False)

    def text(self, answered: int, pace: list[tuple[float, int]]) -> str:
        """Where it is."""
        (first, before), (last, after) = pace[0], pace[-1]
        rate = (after - before) / (last - first) if last > first else 0.0
        done = min(self.known + answered, self.total)
        left = self.total - done
        to_go = f"{left / rate:.0f} s to go" if rate else "…"
        errors = ", ".join(
            f"{count:,d} {name}"
            for name, count in sorted(self.board.counts.items())
            if name != "answered" and count
        )
        return (
            f"{done:,d} of {self.total:,d}, {rate:,.0f}/s, {to_go}; tried again: {errors or 'none'}"
        )
