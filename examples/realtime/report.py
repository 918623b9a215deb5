"""What a person sees: a live histogram, the verdict, and a picture."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from rich import live as rich_live
from rich.console import Console
from rich.table import Table

BOUNDS = [5, 10, 20, 50, 100, 200, 500, 1000, 5000]
WIDTH = 40
RECENT_S = 5.0
STEADY_S = 15.0  # before the kill, after the query has caught up


def percentiles(latencies: list[float], *parts: float) -> list[float]:
    """The latencies below which these parts of all lie."""
    ordered = sorted(latencies)
    return [ordered[min(int(len(ordered) * part), len(ordered) - 1)] for part in parts]


def histogram(latencies: list[tuple[float, float]], note: str) -> Table:
    """The latencies of the last seconds, by size."""
    newest = latencies[-1][0] if latencies else 0.0
    recent = [ms for at, ms in latencies if at > newest - RECENT_S]
    counts = Counter(bisect_right(BOUNDS, ms) for ms in recent)
    table = Table(title=note, title_justify="left", box=None)
    table.add_column("ms from device to result", justify="right")
    table.add_column(f"of the last {RECENT_S:.0f} s", width=WIDTH)
    table.add_column("signals", justify="right")
    most = max(counts.values(), default=1)
    for at, bound in enumerate([*BOUNDS, None]):
        label = f"< {bound}" if bound is not None else f">= {BOUNDS[-1]}"
        table.add_row(label, "█" * round(WIDTH * counts[at] / most), str(counts[at]))
    if recent:
        p50, p99 = percentiles(recent, 0.5, 0.99)
        table.caption = f"p50 {p50:.1f} ms, p99 {p99:.1f} ms; {len(latencies):,d} results"
    return table


class Live:
    """The histogram while the query runs; on no terminal, a line now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = rich_live.Live(console=console, refresh_per_second=4)
        self._said = ""

    def __enter__(self) -> Live:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, latencies: list[tuple[float, float]], note: str) -> None:
        """The latencies so far: when each result came (s), and how long it took (ms)."""
        if self._console.is_terminal:
            self._live.update(histogram(latencies, note))
        elif note != self._said:
            self._said = note
            self._console.print(f"{note}: {len(latencies):,d} results so far")


def picture(latencies: list[tuple[float, float]], killed: float, path: Path) -> None:
    """How long each result took, over time."""
    figure, axes = plt.subplots(figsize=(9, 4))
    if latencies:
        began = latencies[0][0]
        axes.scatter([at - began for at, _ in latencies], [ms for _, ms in latencies], s=2)
        axes.axvline(killed - began, color="tab:red", label="killed")
        axes.legend()
    axes.set(yscale="log", xlabel="seconds", ylabel="ms from device to result")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def verdict(
    console: Console,
    results: Any,
    found: Any,
    wanted: Any,
    killed: float,
    out: Path,
    *,
    right: bool,
) -> None:
    """The figures, and whether the results are right."""
    steady = [ms for at, ms in results.latencies if killed - STEADY_S < at < killed]
    if steady:
        p50, p90, p99 = percentiles(steady, 0.5, 0.9, 0.99)
        console.print(
            f"in the {STEADY_S:.0f} s before the kill: p50 {p50:.1f} ms, p90 {p90:.1f} ms, p99 "
            f"{p99:.1f} ms from device to result, over {len(steady):,d} signals",
            highlight=False,
        )
    for name, have, want in zip(("signals", "silences"), found, wanted, strict=True):
        wrong = have.items() ^ want.items()
        console.print(f"{name}: {len(want):,d} wanted, {len(wrong):,d} wrong", highlight=False)
    console.print(
        f"{results.copies:,d} results came twice, {results.contradictions:,d} of them differed; "
        f"picture: {out / 'latency.png'}",
        highlight=False,
    )
    console.print("[bold green]right[/]" if right else "[bold red]WRONG[/]")
