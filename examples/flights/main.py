"""Real flights through a dead-man switch per aircraft, streamed by Spark, checked by pandas.

    bash ci/demo.sh flights            # makes the environment first
    python examples/flights/main.py    # in an environment with flinkish[demo]

Every departure of an aircraft from New York registers an event-time timer and cancels the one
before; an aircraft unseen for 30 days raises an alert.  The year's reports arrive a week a
micro-batch.  (A batch sees the watermark of those before it.  An aircraft that comes back in the
very batch in which its time is up does so before the watermark passes, and raises no alert; so a
batch should be short beside the threshold.)

Exits with 0 if all outputs equal, row for row, those that pandas computes by other means, with 1
and the differing rows if they do not.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import report
from check import Expected, differences, expected
from data import DataError, days_of_reports, fetch, read_archive, read_flights, write_files
from dead_man_switch import LATE, RETURNED
from pyspark.errors import PySparkException
from rich.console import Console
from stream import OUTPUTS, Sink, dead_man_switches, session

import flinkish

ROOT = Path(__file__).resolve().parents[2]


def arguments(given: list[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--threshold-days", type=int, default=30, metavar="N")
    parser.add_argument("--wait-hours", type=int, default=6, metavar="N", help="of the watermark")
    parser.add_argument("--days-per-batch", type=int, default=7, metavar="N")
    parser.add_argument("--csv", type=Path, help="flights to use, in place of the whole year")
    parser.add_argument("--out", type=Path, default=ROOT / "out/flights", metavar="DIR")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache", metavar="DIR")
    asked = parser.parse_args(given)
    for name in ("threshold_days", "wait_hours", "days_per_batch"):
        if getattr(asked, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return asked


def main(given: list[str] | None = None) -> int:
    """Run the job; 0 if its outputs are right."""
    asked = arguments(given)
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    threshold = pd.Timedelta(days=asked.threshold_days)
    wait = pd.Timedelta(hours=asked.wait_hours)

    for earlier in ("arriving", "checkpoint", *OUTPUTS):
        shutil.rmtree(asked.out / earlier, ignore_errors=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.csv:
        flights, airlines = read_flights(asked.csv), {}
    else:
        flights, airlines = read_archive(fetch(asked.cache))
    days = days_of_reports(flights)
    files = write_files(flights, days, asked.out / "arriving")
    console.print(
        f"[bold]{len(flights):,d} flights[/] in {len(files)} files, {asked.days_per_batch} a "
        f"micro-batch; flinkish {flinkish.__version__}, Spark {version('pyspark')}, 2 cores",
        highlight=False,
    )

    log = asked.out / "spark.log"
    try:
        with console.status("starting Spark …"):
            spark = session(log)
        switches = dead_man_switches(
            spark,
            asked.out / "arriving",
            files_per_batch=asked.days_per_batch,
            threshold=threshold,
            wait=wait,
        )
        sink = Sink(asked.out)
        query = (
            switches.foreach_batch(sink.write, RETURNED, LATE)
            .option("checkpointLocation", str(asked.out / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        pace = report.watch(query, sink, len(flights), console)
        statistics = switches.statistics(query)
        spark.stop()
    except PySparkException as error:
        console.print(f"[bold red]The query failed.[/] What Spark said is in {log}; in short:")
        cause = str(error).split("=== Streaming Query")[0][-2000:].strip()
        console.print(cause, markup=False, highlight=False)
        return 1

    began = time.perf_counter()
    want = expected(
        flights, days, days_per_batch=asked.days_per_batch, threshold=threshold, wait=wait
    )
    checked = time.perf_counter() - began
    got = {name: sink.read(name) for name in sink.counts}
    tell(console, asked, flights, airlines, got, statistics, pace, want)
    if not agrees(console, got, statistics, want):
        return 1
    console.print(
        f"[bold green]Right:[/] {len(want.alerts):,d} alerts, {len(want.returned):,d} returns and "
        f"{len(want.late):,d} late rows equal those of pandas ({checked:.1f} s), row for row, and "
        "so do the numbers of timers.",
        highlight=False,
    )
    return 0


def tell(
    console: Console,
    asked: argparse.Namespace,
    flights: pd.DataFrame,
    airlines: dict[str, str],
    got: dict[str, pd.DataFrame],
    statistics: dict[str, int],
    pace: report.Pace,
    want: Expected,
) -> None:
    """Print the tables and draw the picture."""
    alerts, returned = got["alerts"], got["returned"]
    counts = report.by_month_and_carrier(alerts)
    days = f"{asked.threshold_days} days"
    console.print()
    console.print(report.months_table(counts, airlines, days))
    console.print(report.silences_table(alerts, returned, want.watermark))
    console.print(
        report.counts_table(
            [
                ("flights read", f"{pace.rows:,d}"),
                ("  of them cancelled, so no departure", f"{flights['dep_time'].isna().sum():,d}"),
                ("  without a tail number, dropped", f"{statistics['null_keys']:,d}"),
                ("  behind the watermark, to the side output", f"{statistics['late_rows']:,d}"),
                ("timers registered", f"{statistics['timers_registered']:,d}"),
                ("  cancelled by the next departure", f"{statistics['timers_deleted']:,d}"),
                ("  fired, each an alert", f"{statistics['timers_fired']:,d}"),
                ("  still set at the end", f"{armed(statistics):,d}"),
                ("aircraft that came back after an alert", f"{len(returned):,d}"),
                ("last watermark, UTC", f"{want.watermark:%d %b %H:%M}"),
                ("micro-batches with data", f"{pace.batches:,d}"),
                ("seconds from the query's start to its end", f"{pace.seconds:,.1f}"),
                ("rows/s, all in", f"{pace.rows / pace.seconds:,.0f}"),
                ("rows/s of the median micro-batch", f"{pace.median:,.0f}"),
            ]
        )
    )
    first = flights["time_hour"].min() + pd.Timedelta(days=asked.threshold_days)
    picture = asked.out / "alerts.png"
    report.draw(
        counts,
        airlines,
        f"A dead-man switch for each aircraft: an alert after {days} without a departure, "
        f"so the first on {first:%-d %B}",
        picture,
    )
    console.print(f"Picture: {picture}\nOutputs: {asked.out}/{{alerts,returned,late}}/*.parquet\n")


def armed(statistics: dict[str, int]) -> int:
    """Timers that are still set."""
    gone = statistics["timers_deleted"] + statistics["timers_fired"]
    return statistics["timers_registered"] - gone


def agrees(
    console: Console, got: dict[str, pd.DataFrame], statistics: dict[str, int], want: Expected
) -> bool:
    """Whether the stream's outputs and counts are those that pandas computed; shows what is not."""
    right = True
    for name in got:
        wrong = differences(getattr(want, name), got[name])
        if len(wrong):
            right = False
            console.print(
                f"[bold red]WRONG:[/] of {name}, {len(wrong):,d} rows are not in both; "
                "the first of them:"
            )
            console.print(wrong.head(20).to_string(index=False), markup=False, highlight=False)
    counts = {
        "null_keys": want.without_tailnum,
        "late_rows": len(want.late),
        "timers_registered": want.registered,
        "timers_deleted": want.cancelled,
        "timers_fired": len(want.alerts),
    }
    for name, count in counts.items():
        if statistics[name] != count:
            right = False
            console.print(
                f"[bold red]WRONG:[/] {name} is {statistics[name]:,d}; pandas has {count:,d}"
            )
    return right


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DataError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
