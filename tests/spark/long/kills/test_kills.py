"""Kills at any moment leave no trace in what comes out.

FLINKISH_KILLS sets how many times the driver is killed; the default is short.
"""

import os
import random
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.models.window_operator import WindowModel
from tests.spark.functions import LATE, Silence
from tests.spark.long.kills.killing import cut, kill_now_and_then
from tests.spark.support import GROUPS, Outcome, Source, by_key, run, settings, timed, tuples
from tests.spark.traffic import OUT, SCHEMA, check, expected, feed, random_batches
from tests.spark.windowed import SESSIONS
from tests.spark.windowed import expected as windows_expected

KILLS = int(os.environ.get("FLINKISH_KILLS", "2"))


class Dying(Silence):
    """Kills its own process, once at each of three places."""

    def __init__(self, markers: str) -> None:
        self.markers = markers

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self.keys: set[str] = set()

    def die(self, where: str) -> None:
        try:
            os.close(os.open(os.path.join(self.markers, where), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if ctx.timestamp() > 19_000:
            self.die("row")
        self.keys.add(ctx.get_current_key())
        if ctx.timestamp() > 30_000 and len(self.keys) > 8:
            self.die("row of a later key group")
        yield from super().process_element(value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if timestamp > 24_000:
            self.die("timer")
        yield from super().on_timer(timestamp, ctx)


@pytest.mark.filterwarnings(r"ignore:Dying\.process_element sets")  # keys of a task
@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_killed_workers(spark: SparkSession, tmp_path: Path, backend: str) -> None:
    (tmp_path / "markers").mkdir()
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(31, batches=5, rows=60, keys=24)
    feed(source, batches)
    stream = (
        timed(source.stream(), 1000)
        .key_by("key")
        .process(
            Dying(str(tmp_path / "markers")),
            schema=OUT,
            max_parallelism=GROUPS,
            state=settings(tmp_path / "tables", backend=backend),
        )
    )
    outcome = run(stream, tmp_path / "checkpoint", LATE)
    deaths = {path.name for path in (tmp_path / "markers").iterdir()}
    assert deaths == {"row", "timer", "row of a later key group"}
    model, given = expected(Silence(), batches, 1000)
    if backend == "store":
        check(outcome, given, "late")
    for tag in ("", "late"):
        wanted = ((value for name, value, _ in outputs if name == tag) for outputs in given)
        assert in_order([outcome.rows(tag)]) == in_order(wanted)
    assert outcome.statistics["rows"] == model.counts["rows"], "dead attempts do not count"
    assert outcome.statistics["table_misses"] > 0


@pytest.mark.stress
def test_killed_drivers(tmp_path: Path) -> None:
    chance = random.Random(41)
    source = Source(None, tmp_path / "in", SCHEMA)  # type: ignore[arg-type]
    batches = random_batches(41, batches=max(8, 3 * KILLS), rows=50, keys=20)
    feed(source, batches)
    out = tmp_path / "out"
    program = ["tests.spark.long.kills.kill_driver", str(tmp_path), "process"]
    deaths = kill_now_and_then(program, tmp_path, chance, KILLS, 1.5)
    assert deaths == KILLS
    found = Outcome(batches={int(file.stem): tuples(file) for file in out.glob("*.json")})
    batches = cut(tmp_path / "checkpoint", tmp_path / "in", batches)
    _, given = expected(Silence(), batches, 1000)
    check(found, given[: len(batches)], "late")
    tables = list((tmp_path / "tables").glob("*/*/*/*/*"))
    assert len(tables) == len({table.parent for table in tables}) == GROUPS
    assert not any(table.name.startswith(".") for table in tables)


def in_order(rows: Iterable[Any]) -> dict[Any, list[Any]]:
    """The output of each key over all batches: timers fire a batch earlier than in the store."""
    return by_key(row for batch in rows for row in batch)


@pytest.mark.stress
@pytest.mark.parametrize("what", ["versioned", "reshaped"])
def test_killed_drivers_with_state_versioned_by_batch(tmp_path: Path, what: str) -> None:
    """With nothing between the operator and its commit, and with user code there and above."""
    source = Source(None, tmp_path / "in", SCHEMA)  # type: ignore[arg-type]
    feed(source, random_batches(47, batches=max(8, 3 * KILLS), rows=50, keys=20))
    batches = random_batches(47, batches=max(8, 3 * KILLS), rows=50, keys=20)
    program = ["tests.spark.long.kills.kill_driver", str(tmp_path), what]
    assert kill_now_and_then(program, tmp_path, random.Random(47), KILLS, 1.5) == KILLS
    found = [tuples(file) for file in sorted((tmp_path / "out").glob("*.json"))]
    batches = cut(tmp_path / "checkpoint", tmp_path / "in", batches)
    assert len(found) == len(batches)
    _, given = expected(Silence(), batches, 1000)
    for tag in ("", "late"):
        wanted = ((value for name, value, _ in outputs if name == tag) for outputs in given)
        assert in_order(batch[tag] for batch in found) == in_order(wanted), tag
    unfinished = list((tmp_path / "checkpoint" / "flinkish").rglob("*.tmp"))
    assert len(unfinished) <= GROUPS * KILLS


@pytest.mark.stress
def test_killed_drivers_of_windows(tmp_path: Path) -> None:
    source = Source(None, tmp_path / "in", SCHEMA)  # type: ignore[arg-type]
    batches = random_batches(43, batches=max(6, 3 * KILLS), rows=50, keys=20)
    feed(source, batches)
    program = ["tests.spark.long.kills.kill_driver", str(tmp_path), "windows"]
    assert kill_now_and_then(program, tmp_path, random.Random(43), KILLS, 1.5) == KILLS
    found = {int(file.stem): tuples(file) for file in (tmp_path / "out").glob("*.json")}
    batches = cut(tmp_path / "checkpoint", tmp_path / "in", batches)
    given, late = windows_expected(WindowModel(SESSIONS), batches, 1000)
    assert sorted(found) == list(range(len(batches)))
    for batch, wanted in enumerate(given[: len(batches)]):
        assert sorted(found[batch][""]) == wanted, f"batch {batch}"
    rows = [(key, n) for batch in found.values() for key, n, _ in batch["late"]]
    assert sorted(rows) == late
