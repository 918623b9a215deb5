"""50,000 support tickets through a model behind HTTP: naive, on threads, and with flinkish.

    bash ci/demo.sh async              # makes the environment first
    python examples/tickets/main.py    # in an environment with flinkish[demo]

The model is a mock, a process of its own on this machine: slow, with errors, refusals and calls
that it never answers, and with a log that shows how many calls it got and when.  First three ways
to ask it race on some of the tickets.  Then flinkish asks about all of them, its driver and
workers are killed half-way, and it is started again.

Exits with 0 if every ticket has the right answer once, the rate held over any five seconds of the
server's log, and the second run paid only for what the first had not; with 1 if not.
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
import urllib.request
from pathlib import Path
from typing import Any

import check
import pyarrow.parquet as pq
import tickets
from rich import box
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MARK = ".tickets-demo"  # in directories that this made
MADE = (
    *("tickets", "ledger", "answers"),
    *("race.json", "work.json", "requests.log", "spark.log"),
)


def arguments(given: list[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tickets", type=int, default=50_000, metavar="N")
    parser.add_argument("--rate", type=int, default=800, metavar="N", help="calls a second")
    parser.add_argument("--latency-ms", type=int, default=200, metavar="N", help="median")
    parser.add_argument("--capacity", type=int, default=600, metavar="N", help="of each task")
    parser.add_argument("--threads", type=int, default=32, metavar="N", help="of each task")
    parser.add_argument("--race-s", type=int, default=8, metavar="N", help="about, each way")
    parser.add_argument("--out", type=Path, default=ROOT / "out/tickets", metavar="DIR")
    asked = parser.parse_args(given)
    for name in ("tickets", "rate", "latency_ms", "capacity", "threads", "race_s"):
        if getattr(asked, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return asked


def make_room(out: Path) -> None:
    """Make the directory, or delete what an earlier run left in it, and nothing else.

    SystemExit if there is a directory with something in it that no earlier run made.
    """
    if out.exists() and not out.is_dir():
        sys.exit(f"--out {out} is a file; give a directory that is empty or does not exist")
    found = sorted(path.name for path in out.iterdir()) if out.exists() else []
    if found and MARK not in found:
        some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
        sys.exit(
            f"--out {out} holds {some}, and was not made by this demonstration, which would delete "
            f"{', '.join(MADE)} in it: give a directory that is empty or does not exist, or empty "
            "this one yourself"
        )
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).write_text("Made by examples/tickets, which deletes what an earlier run left.\n")
    for name in MADE:
        path = out / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


class Server:
    """The model's process."""

    def __init__(self, out: Path, rate: float, latency_ms: int) -> None:
        self.log = out / "requests.log"
        options = {"--log": self.log, "--rate": rate, "--latency-ms": latency_ms}
        words = [str(word) for option in options.items() for word in option]
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "model_server.py"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def answered(self, caller: str) -> int:
        """How many of somebody's calls it has answered."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=30) as reply:
            return int(json.loads(reply.read())["answered"].get(caller, 0))

    def close(self) -> None:
        """End it; then its log is complete."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


def start(name: str, out: Path, port: int, options: dict[str, Any]) -> subprocess.Popen[bytes]:
    """A driver program, with its JVM and workers in a process group of their own."""
    command = [sys.executable, str(HERE / "job.py"), name, str(out), str(port), json.dumps(options)]
    with open(out / "spark.log", "ab") as log:
        return subprocess.Popen(command, stderr=log, start_new_session=True)


def finish(job: subprocess.Popen[bytes], name: str, out: Path, console: Console) -> dict[str, Any]:
    """Wait for a driver program; what it left, or the end of this one."""
    try:
        failed = job.wait()
    except BaseException:
        kill(job)
        raise
    if failed:
        console.print(f"[bold red]The job failed.[/] What it said is in {out / 'spark.log'}:")
        console.print((out / "spark.log").read_text()[-3000:], markup=False, highlight=False)
        sys.exit(1)
    found: dict[str, Any] = json.loads((out / f"{name}.json").read_text())
    return found


def kill(job: subprocess.Popen[bytes]) -> None:
    """Kill every process of a driver's session: itself, its JVM, Spark's Python workers."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            process = int(stat.parent.name)
            session = int(stat.read_text().rsplit(")", 1)[1].split()[3])
            if session == job.pid:
                os.kill(process, signal.SIGKILL)
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    job.wait()


def kill_half_way(job: subprocess.Popen[bytes], server: Server, caller: str, half: int) -> bool:
    """Kill driver, JVM and workers when half of the answers were given; False if it ended first."""
    while server.answered(caller) < half:
        if job.poll() is not None:
            return False
        time.sleep(0.1)
    kill(job)
    return True


def main(given: list[str] | None = None) -> int:
    """Run the demonstration; 0 if its claims hold."""
    asked = arguments(given)
    console = Console() if sys.stdout.isatty() else Console(width=110)
    out = asked.out.resolve()
    make_room(out)
    tickets.write(asked.tickets, out / "tickets")
    server = Server(out, asked.rate * 1.25, asked.latency_ms)
    console.print(
        f"[bold]{asked.tickets:,d} tickets[/], a model that takes {asked.latency_ms} ms (median), "
        f"and no more than {asked.rate:,d} calls a second; 2 cores",
        highlight=False,
    )
    try:
        raced = race(asked, out, server, console)
        first, second = resumed(asked, out, server, console)
    finally:
        server.close()
    return verdict(asked, out, server, raced, first, second, console)


def race(
    asked: argparse.Namespace, out: Path, server: Server, console: Console
) -> dict[str, dict[str, Any]]:
    """Three ways on as many tickets as they manage in some seconds."""
    latency = asked.latency_ms / 1000
    counts = {
        "naive": 2 * asked.race_s / latency,
        "threads": 2 * asked.threads * asked.race_s / latency,
        "flinkish": asked.rate * asked.race_s,
    }
    share = {name: max(min(int(count), asked.tickets), 1) for name, count in counts.items()}
    options = {"rate": asked.rate, "capacity": asked.capacity, "threads": asked.threads}
    options["race"] = share
    with console.status("three ways side by side, some seconds each …"):
        found = finish(start("race", out, server.port, options), "race", out, console)
    table = Table(box=box.SIMPLE_HEAD)
    for title, justify in (("way", "left"), *((name, "right") for name in ("tickets", "s", "/s"))):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    names = {
        "naive": "a plain UDF, one call after the other",
        "threads": f"mapInPandas with {asked.threads} threads a task",
        "flinkish": f"flinkish, rate={asked.rate}/s",
    }
    for name, text in names.items():
        one = found[name]
        speed = one["tickets"] / one["seconds"]
        table.add_row(text, f"{one['tickets']:,d}", f"{one['seconds']:.1f}", f"{speed:,.0f}")
    console.print(table)
    return found


def resumed(
    asked: argparse.Namespace, out: Path, server: Server, console: Console
) -> tuple[dict[str, Any], dict[str, Any]]:
    """All tickets; killed half-way and started again."""
    options = {"rate": asked.rate, "capacity": asked.capacity, "tickets": asked.tickets}
    options |= {"known": 0, "caller": "first"}
    console.print("All tickets, until half of them are answered:")
    began = time.perf_counter()
    job = start("work", out, server.port, options)
    killed = kill_half_way(job, server, "first", asked.tickets // 2)
    known = server.answered("first")
    console.print(
        f"[bold]Killed[/] with SIGKILL after {time.perf_counter() - began:.0f} s: the driver, its "
        f"JVM and its workers. {known:,d} tickets were answered. Started again:",
        highlight=False,
    )
    options |= {"known": known, "caller": "second"}
    second = finish(start("work", out, server.port, options), "work", out, console)
    return {"killed": killed, "answered": known}, second


def verdict(
    asked: argparse.Namespace,
    out: Path,
    server: Server,
    raced: dict[str, dict[str, Any]],
    first: dict[str, Any],
    second: dict[str, Any],
    console: Console,
) -> int:
    """Compare what was claimed with what happened."""
    callers = check.read_log(server.log)
    saved = second["counts"]["saved"]
    answers = pq.read_table(out / "answers").to_pylist()
    rows = [(row["id"], row["topic"], row["priority"]) for row in answers]
    wrong = check.wrong_rows("the answers", out, rows, asked.tickets)
    for name, one in raced.items():
        given = [tuple(row) for row in one["rows"]]
        wrong += check.wrong_rows(f"the race, {name}", out, given, one["tickets"])
    for name in ("flinkish", "first", "second"):
        wrong += check.wrong_rate(name, callers[name], asked.rate)
    wrong += check.wrong_bill(callers["first"], callers["second"], saved, 2 * asked.capacity)
    if not first["killed"]:
        wrong.append("the first run ended before it was killed; give it more tickets")

    console.print(report(asked, callers, second, saved))
    for line in wrong:
        console.print(f"[bold red]WRONG:[/] {line}", highlight=False)
    if wrong:
        return 1
    console.print(
        f"[bold green]Right:[/] {len(rows):,d} tickets have their answer once; in no five seconds "
        f"were more calls sent than {asked.rate:,d}/s and 2 % allow; the second run paid again for "
        f"{len(callers['first'].answered.keys() & callers['second'].answered.keys()):,d} tickets.",
        highlight=False,
    )
    return 0


def report(
    asked: argparse.Namespace,
    callers: dict[str, check.Seen],
    second: dict[str, Any],
    saved: int,
) -> Table:
    """What the server saw of the two runs."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("as the server saw it")
    for name in ("first run", "second run"):
        table.add_column(name, justify="right")
    seen = [callers["first"], callers["second"]]
    window = check.WINDOW_S
    lines: list[tuple[str, list[Any]]] = [
        ("calls", [f"{one.calls:,d}" for one in seen]),
        ("  answered", [f"{one.statuses[200]:,d}" for one in seen]),
        ("  429, come back later", [f"{one.statuses[429]:,d}" for one in seen]),
        ("  503", [f"{one.statuses[503]:,d}" for one in seen]),
        ("  never answered", [f"{one.statuses[0]:,d}" for one in seen]),
        ("calls saved by the ledger", ["0", f"{saved:,d}"]),
        (
            f"most that were sent in any {window} s, a second",
            [f"{check.busiest(one.sent) / window:,.1f}" for one in seen],
        ),
        (
            f"most that came in in any {window} s, a second",
            [f"{check.busiest(one.came) / window:,.1f}" for one in seen],
        ),
        (
            "calls a second, first and last tenth aside",
            [f"{check.pace(one.came):,.1f}" for one in seen],
        ),
        ("seconds of the job", ["killed", f"{second['seconds']:,.1f}"]),
    ]
    for name, figures in lines:
        table.add_row(name, *figures)
    return table


if __name__ == "__main__":
    sys.exit(main())
