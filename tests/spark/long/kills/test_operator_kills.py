"""Kills of the driver leave no trace in what operators of two streams and of columns give.

Each micro-batch gives what a model gives for the rows that Spark put into it and the watermark that
Spark had: exactly once.  FLINKISH_KILLS sets how many times the driver is killed.
"""

import random
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Row
from tests.models.two_inputs import BroadcastModel, connected_model
from tests.spark.long.kills.kill_operators import AGGREGATES, WINDOWS
from tests.spark.long.kills.killing import cut, kill_now_and_then, marks
from tests.spark.long.kills.test_kills import KILLS
from tests.spark.support import GROUPS, by_key, tuples
from tests.spark.two_streams import (
    Above,
    Batches,
    Totals,
    joined_batches,
    random_batches,
    sources,
)
from tests.spark.windowed import modelled

Outputs = dict[str, list[tuple[Any, ...]]]


def order(row: tuple[str, int, int]) -> Row:
    return Row(customer=row[0], amount=row[1])


def payment(row: tuple[str, int, int]) -> Row:
    return Row(payer=row[0], paid=row[1], method=f"m{row[1] % 3}")


def grouped(taken: Iterable[tuple[str, Any, Any]], *tags: str) -> Outputs:
    """The outputs of a model by tag."""
    found: Outputs = {tag: [] for tag in ("", *tags)}
    for tag, value, _ in taken:
        found[tag].append(value)
    return found


def connected(orders: Batches, payments: Batches, seen: list[int]) -> list[Outputs]:
    model = connected_model(Totals(), lambda row: row.customer, lambda row: row.payer)
    given = []
    for first, second, mark in zip(orders, payments, seen, strict=True):
        elements = [((1, order(row)), row[2]) for row in first]
        elements += [((2, payment(row)), row[2]) for row in second]
        given.append(grouped(model.batch(elements, mark), "side"))
    return given


def broadcast(orders: Batches, payments: Batches, seen: list[int]) -> list[Outputs]:
    model = BroadcastModel(Above(), lambda row: row.customer)
    given = []
    for first, second, mark in zip(orders, payments, seen, strict=True):
        model.advance(mark)
        for row in second:
            model.broadcast(payment(row), None)
        for row in first:
            model.element(order(row), row[2])
        given.append(grouped(model.take(), "side"))
    return given


def keyless(orders: Batches, payments: Batches, _: list[int]) -> list[Outputs]:
    limits: dict[str, int] = {}
    given: list[Outputs] = []
    for first, second in zip(orders, payments, strict=True):
        totals = []
        for key, n, _at in second:
            limits[key] = n
            totals.append((sum(limits.values()),))
        above = [(key, n, limits[key]) for key, n, _at in first if n > limits.get(key, n)]
        given.append({"": above, "side": totals * GROUPS})
    return given


def joined(orders: Batches, payments: Batches, seen: list[int]) -> list[Outputs]:
    return [
        {
            "": pairs,
            "late-orders": [(n,) for n in late_orders],
            "late-payments": [(n,) for n in late_payments],
        }
        for pairs, late_orders, late_payments in joined_batches(orders, payments, -1000, 2000, seen)
    ]


def windows(orders: Batches, _: Batches, seen: list[int]) -> list[Outputs]:
    rows = [[{"key": key, "amount": n, "at": at} for key, n, at in batch] for batch in orders]
    given, _late = modelled(WINDOWS, 0, rows, seen, *AGGREGATES)
    return [{"": batch} for batch in given]


def plain(outputs: Outputs) -> Outputs:
    """Late rows as their numbers, times of windows in ms."""
    return {
        tag: [row[1:2] if tag.startswith("late") else tuple(map(millis, row)) for row in rows]
        for tag, rows in outputs.items()
    }


def millis(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("1970-"):
        return round(datetime.fromisoformat(value).timestamp() * 1000)
    return value


MODELS = {
    "connect": connected,
    "join": joined,
    "broadcast": broadcast,
    "keyless": keyless,
    "columns": windows,
}
IN_ORDER = ("connect", "broadcast")


@pytest.mark.stress
def test_killed_drivers_of_operators(tmp_path: Path) -> None:
    count = max(6, 3 * KILLS)
    files = random_batches(6, count, 40, keys=12), random_batches(5, count, 40, keys=12)
    sources(None, tmp_path / "in", *files)  # type: ignore[arg-type]
    program = ["tests.spark.long.kills.kill_operators", str(tmp_path), *MODELS]
    deaths = kill_now_and_then(program, tmp_path, random.Random(9), KILLS, 3.0, most=8)
    assert deaths == KILLS
    inputs = [tmp_path / "in" / name for name in ("orders", "payments")]
    for name, model in MODELS.items():
        checkpoint = tmp_path / "checkpoint" / name
        read = files if name != "columns" else files[:1]
        batches = [cut(checkpoint, inputs[at], rows, source=at) for at, rows in enumerate(read)]
        given = model(batches[0], batches[-1], marks(checkpoint))
        written = sorted((tmp_path / "out").glob(f"{name}-*.json"))
        found = [plain(tuples(file)) for file in written]
        assert len(found) == len(given), name
        for batch, (outputs, wanted) in enumerate(zip(found, given, strict=True)):
            where = f"{name}, batch {batch}"
            assert {tag: sorted(rows) for tag, rows in outputs.items()} == {
                tag: sorted(rows) for tag, rows in wanted.items()
            }, where
            if name in IN_ORDER:
                assert by_key(outputs[""]) == by_key(wanted[""]), where
        assert sum(len(outputs[""]) for outputs in found) > 50, name
