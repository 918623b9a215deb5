"""Nexmark's queries on Spark streams, measured and compared with plain Spark SQL to the row.

    bash ci/demo.sh nexmark            # makes the environment first
    python examples/nexmark/main.py    # in an environment with flinkish[demo]

Every query streams the same files of events.  Then one is killed (-9) in the middle and started
again.  Exits with 0 if the results of all, also of the one that was killed, equal those of Spark
SQL over the whole data, with 1 if not.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
JOB = Path(__file__).with_name("job.py")
ALL = "q0 q1 q2 q5 q7 q8 q11 q12 q13 q14 q16 q17 q18 q19 q22"
Outcome = dict[str, Any]


def arguments(given: list[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--events", type=int, default=2_000_000, metavar="N", help="of all kinds")
    parser.add_argument("--per-batch", type=int, default=500_000, metavar="N")
    parser.add_argument(
        "--rate", type=int, default=10_000, metavar="N", help="a second of event time"
    )
    parser.add_argument("--queries", default=ALL, metavar="NAMES", help=f"of {ALL}")
    parser.add_argument(
        "--kill", default="q5", metavar="NAME", help="the one that is killed; or none"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out/nexmark", metavar="DIR")
    asked = parser.parse_args(given)
    asked.queries = asked.queries.replace(",", " ").split()
    if asked.events < 2 * asked.per_batch or asked.per_batch < 50:
        parser.error("--per-batch must be at least 50, and --events two batches or more")
    known = set(ALL.split())
    for name in {*asked.queries, asked.kill} - {"none"} - known:
        parser.error(f"there is no query {name}; there are {ALL}")
    return asked


def start(asked: argparse.Namespace, work: Path, *queries: str) -> subprocess.Popen[str]:
    """A process with a Spark of its own, whose messages go to a log."""
    size = [
        f"--{name}={getattr(asked, name.replace('-', '_'))}"
        for name in ("events", "per-batch", "rate")
    ]
    with (asked.out / "log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, str(JOB), str(work), *queries, *size],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        )


def outcomes(job: subprocess.Popen[str]) -> Iterator[Outcome]:
    """What a process says, as it says it."""
    assert job.stdout is not None
    try:
        for line in job.stdout:
            yield json.loads(line)
        if job.wait():
            raise SystemExit(f"the job ended with {job.returncode}; see its log in --out")
    finally:
        stop(job)


def stop(job: subprocess.Popen[str]) -> None:
    """Kill a process and its Spark, where they run still."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def kill_one(asked: argparse.Namespace, work: Path) -> tuple[float, Outcome]:
    """Kill a query after its first batch; how long the next process took to its first, and all."""
    committed = work / "checkpoint" / asked.kill / "commits" / "0"
    # Without the files that close the stream: however quick it is, there is something left to do.
    closing = {file: file.with_name(f"_{file.name}") for file in work.glob("data/*/zz-closing*")}
    for file, hidden in closing.items():
        file.rename(hidden)
    job = start(asked, work, asked.kill)
    try:
        while job.poll() is None and not committed.exists():
            time.sleep(0.05)
        time.sleep(1)  # into the next one
    finally:
        stop(job)
        for file, hidden in closing.items():
            hidden.rename(file)
    begun = time.time()
    (outcome,) = outcomes(start(asked, work, asked.kill))
    return outcome["first_batch_at"] - begun, outcome


def verdict(outcome: Outcome) -> str:
    """What came of the comparison."""
    if outcome["extra"] or outcome["missing"]:
        return f"[red]{outcome['extra']:,} too many, {outcome['missing']:,} lack[/red]"
    return "equal"


def new_table() -> Table:
    """In the layout of the Nexmark project, and what is ours behind it."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in (
        "Query",
        "Events",
        "Cores",
        "Time (s)",
        "Cores × Time (s)",
        "Events/s per core",
        "Events/s",
        "Cold (s)",
        "Cold events/s",
        "Rows out",
    ):
        table.add_column(column, justify="right")
    table.add_column("Beside Spark SQL")
    return table


def row(outcome: Outcome) -> list[str]:
    """A query's line of the table."""
    events, seconds, cores = (outcome[name] for name in ("steady_events", "steady_s", "cores"))
    return [
        outcome["query"],
        f"{events:,}",
        f"{cores:.2f}",
        f"{seconds:.1f}",
        f"{cores * seconds:.1f}",
        f"{events / (cores * seconds):,.0f}",
        f"{events / seconds:,.0f}",
        f"{outcome['first_batch_s']:.1f}",
        f"{outcome['first_events'] / outcome['first_batch_s']:,.0f}",
        f"{outcome['rows']:,}",
        verdict(outcome),
    ]


def main(given: list[str] | None = None) -> int:
    """Run the queries; 0 if all are right."""
    asked = arguments(given)
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    for earlier in ("all", "killed"):
        shutil.rmtree(asked.out / earlier, ignore_errors=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    log = asked.out / "log"
    log.unlink(missing_ok=True)
    console.print(
        f"{asked.events:,} events ({asked.rate:,} a second of event time), "
        f"{asked.per_batch:,} a micro-batch; Spark's messages go to {log}"
    )
    table, good = new_table(), True
    for outcome in outcomes(start(asked, asked.out / "all", *asked.queries)):
        table.add_row(*row(outcome))
        good &= verdict(outcome) == "equal"
        console.print(f"{outcome['query']}: {verdict(outcome)}")
    console.print(table)
    console.print(
        "Time, cores and rates are of the batches behind the first, cold is the first, from the "
        "query's start on; cores are those that Spark's JVM and its Python workers kept busy."
    )
    if asked.kill != "none":
        (asked.out / "killed").mkdir()
        (asked.out / "all/data").rename(asked.out / "killed/data")
        seconds, outcome = kill_one(asked, asked.out / "killed")
        good &= verdict(outcome) == "equal" and outcome["first_batch"] > 0
        console.print(
            f"{asked.kill} was killed in batch {outcome['first_batch']}: {seconds:.1f} s from the "
            f"new process to that batch's end, {outcome['first_batch_s']:.1f} of them since its "
            f"query began; result: {verdict(outcome)}"
        )
    console.print("All equal." if good else "[red]Not equal.[/red]")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
