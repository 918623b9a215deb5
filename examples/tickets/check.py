"""What the demonstration claims, checked against the server's own log and the tickets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from tickets import triage

WINDOW_S = 5
SLACK = 0.02


@dataclass
class Seen:
    """What the server's log says of one caller."""

    sent: list[int] = field(default_factory=list)  # ns
    came: list[int] = field(default_factory=list)  # ns
    statuses: Counter[int] = field(default_factory=Counter)
    answered: Counter[int] = field(default_factory=Counter)  # by ticket

    @property
    def calls(self) -> int:
        """All requests."""
        return len(self.came)


def read_log(path: Path) -> dict[str, Seen]:
    """The log by caller; a line that was cut does not count."""
    callers: dict[str, Seen] = defaultdict(Seen)
    for line in path.read_text().splitlines():
        parts = line.split()
        if len(parts) == 5:
            seen = callers[parts[2]]
            seen.sent.append(int(parts[0]))
            seen.came.append(int(parts[1]))
            seen.statuses[int(parts[4])] += 1
            if parts[4] == "200":
                seen.answered[int(parts[3])] += 1
    for seen in callers.values():
        seen.sent.sort()
    return callers


def busiest(times: list[int], seconds: float = WINDOW_S) -> int:
    """The most calls in any window of this length."""
    first = most = 0
    for last, time in enumerate(times):
        while times[first] <= time - seconds * 1e9:
            first += 1
        most = max(most, last - first + 1)
    return most


def pace(times: list[int]) -> float:
    """Calls a second, without the first and the last tenth of them."""
    tenth = len(times) // 10
    inner = times[tenth : len(times) - tenth]
    if len(inner) < 2:
        return 0.0
    return (len(inner) - 1) / (inner[-1] - inner[0]) * 1e9


def wrong_rate(name: str, seen: Seen, rate: float) -> list[str]:
    """Whether a caller kept to its rate over every window, by when it sent its calls.

    When they come in depends on how busy the machine is, too: a server that stands still for a
    tenth of a second gets the calls of that time at once.
    """
    most = busiest(seen.sent)
    if most <= rate * WINDOW_S * (1 + SLACK) + 1:
        return []
    return [
        f"{name} sent {most:,d} calls within {WINDOW_S} s, and {rate:,g}/s allow "
        f"{rate * WINDOW_S:,.0f}"
    ]


def wrong_rows(what: str, out: Path, rows: Iterable[tuple[int, str, int]], count: int) -> list[str]:
    """Whether each of the first tickets has its answer, once."""
    table = pq.read_table(out / "tickets").to_pylist()
    expected = {
        ticket["id"]: triage(ticket["subject"], ticket["body"])
        for ticket in table
        if ticket["id"] < count
    }
    found = Counter(number for number, *_ in rows)
    twice = sum(number > 1 for number in found.values())
    missing = len(expected.keys() - found.keys())
    other = sum(expected.get(number) != (topic, priority) for number, topic, priority in rows)
    wrong = []
    if twice or missing or other:
        wrong.append(
            f"{what}: {missing:,d} tickets have no answer, {twice:,d} more than one, and "
            f"{other:,d} answers are not what the model says"
        )
    return wrong


def wrong_bill(first: Seen, second: Seen, saved: int, in_flight: int) -> list[str]:
    """Whether the second run paid for little that the first had paid for."""
    again = len(first.answered.keys() & second.answered.keys())
    wrong = []
    if again > in_flight:
        wrong.append(
            f"{again:,d} tickets were answered in both runs, and no more than {in_flight:,d} were "
            "under way when the first was killed"
        )
    if saved < len(first.answered) - in_flight:
        wrong.append(
            f"{saved:,d} calls were saved, of {len(first.answered):,d} that the first run had paid"
        )
    return wrong
