"""What a person sees: progress, tables and a picture."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
from pyspark.sql.streaming import StreamingQuery
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from stream import Sink

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAY = 24  # hours


@dataclass(frozen=True)
class Pace:
    """How fast the query went: rows, batches, seconds of all, rows/s of the median batch."""

    rows: int
    batches: int
    seconds: float
    median: float


# ------------------------------------------------------------------------------------ progress


def watch(query: StreamingQuery, sink: Sink, total: int, console: Console) -> Pace:
    """Show how the query gets on until it ends; on no terminal, a line for every fifth batch."""
    started = time.perf_counter()
    columns = (SpinnerColumn(), BarColumn(24), TextColumn("{task.description}"))
    seen, rows, batches, rates = -1, 0, 0, []
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("the first batch starts Spark's Python workers …", total=total)
        while True:
            running = query.isActive
            for update in query.recentProgress:
                if update["batchId"] <= seen or "addBatch" not in update["durationMs"]:
                    continue
                seen = update["batchId"]
                rows += update["numInputRows"]
                if update["numInputRows"]:
                    batches += 1
                    rates.append(update["processedRowsPerSecond"])
                watermark = update["eventTime"].get("watermark", "")[:10]
                text = (
                    f"batch {seen + 1:3d}  {rows:7,d} rows  "
                    f"{rows / (time.perf_counter() - started):6,.0f} rows/s  "
                    f"watermark {watermark if watermark > '1971' else 'none yet  '}  "
                    f"{sink.counts['alerts']:5,d} alerts"
                )
                progress.update(bar, completed=rows, description=text)
                if not console.is_terminal and seen % 5 == 0:
                    console.print(text, highlight=False)
            if not running:
                break
            time.sleep(0.2)
    query.awaitTermination()  # raises what ended it, if that was a failure
    seconds = time.perf_counter() - started
    return Pace(rows, batches, seconds, float(pd.Series(rates).median()))


# -------------------------------------------------------------------------------------- tables


def by_month_and_carrier(alerts: pd.DataFrame) -> pd.DataFrame:
    """Numbers of alerts: a row a carrier, most alerts first, a column a month."""
    counts = pd.crosstab(alerts["carrier"], alerts["raised_at"].dt.month)
    counts = counts.reindex(columns=range(1, 13), fill_value=0)
    return counts.loc[counts.sum(axis=1).sort_values(ascending=False, kind="stable").index]


def months_table(counts: pd.DataFrame, airlines: dict[str, str], threshold: str) -> Table:
    """Alerts by month and carrier."""
    table = Table(
        title=f"Aircraft unseen for {threshold}: alerts by month and carrier",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_footer=True,
    )
    table.add_column("", footer="")
    table.add_column("carrier", footer="all", no_wrap=True, max_width=24)
    for number, month in enumerate(MONTHS, 1):
        table.add_column(month, footer=f"{counts[number].sum():,d}", justify="right", no_wrap=True)
    table.add_column("year", footer=f"{counts.to_numpy().sum():,d}", justify="right", style="bold")
    for carrier, row in counts.iterrows():
        cells = [str(count) if count else "·" for count in row]
        table.add_row(carrier, airlines.get(carrier, ""), *cells, f"{row.sum():,d}")
    return table


def silences_table(
    alerts: pd.DataFrame, returned: pd.DataFrame, end: pd.Timestamp, each: int = 5
) -> Table:
    """The longest silences: of those that ended, and of those that had not when the data did."""
    table = Table(title="The longest silences", box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for name in ("aircraft", "carrier", "last seen leaving", "on", "silent for", "until"):
        table.add_column(name, justify="right" if name == "silent for" else "left", no_wrap=True)
    ended = alerts.merge(
        returned.drop(columns="carrier"),
        how="left",
        on=["tailnum", "last_departure"],
        suffixes=("_then", ""),
    )
    ended["silent_hours"] = ended["silent_hours"].fillna(
        (end - ended["last_departure"]) // pd.Timedelta(hours=1)
    )
    ended = ended.sort_values(["silent_hours", "tailnum"], ascending=[False, True])
    back = ended["returned_at"].notna()
    for rows in (ended[back].head(each), ended[~back].head(each)):
        for row in rows.itertuples():
            until = f"{row.returned_at:%d %b}" if pd.notna(row.returned_at) else "not seen again"
            table.add_row(
                row.tailnum,
                row.carrier,
                f"{row.origin} for {row.dest}",
                f"{row.last_departure:%d %b}",
                f"{row.silent_hours / DAY:.0f} days",
                until,
            )
        table.add_section()
    return table


def counts_table(counts: list[tuple[str, str]]) -> Table:
    """Names and figures, side by side."""
    table = Table(title="The run", box=box.SIMPLE_HEAD, show_header=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for name, figure in counts:
        table.add_row(name, figure)
    return table


# ------------------------------------------------------------------------------------- picture

# Okabe and Ito's colours, which the colour-blind tell apart, and grey for the rest.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"]
GREY = "#B8B8B8"


def draw(counts: pd.DataFrame, airlines: dict[str, str], subtitle: str, path: Path) -> None:
    """Bars of alerts by month, split by carrier, as a PNG."""
    named = counts.head(len(COLOURS))
    rest = counts.iloc[len(COLOURS) :]
    bars = [
        (airlines.get(str(carrier), str(carrier)), row, colour)
        for (carrier, row), colour in zip(named.iterrows(), COLOURS, strict=False)
    ]
    if len(rest):
        bars.append((f"{len(rest)} other carriers", rest.sum(), GREY))

    figure, axes = plt.subplots(figsize=(10, 5.6), dpi=130, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches
    base = pd.Series(0, index=counts.columns)
    for name, heights, colour in bars:
        label = f"{name}  ({heights.sum():,d})"
        axes.bar(
            MONTHS, heights, 0.74, bottom=base, color=colour, label=label, edgecolor="white", lw=0.6
        )
        base = base + heights
    for place, height in enumerate(base):
        axes.annotate(
            f"{height:,d}",
            (place, height),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            color="#404040",
        )
    axes.set_title(
        "Aircraft that stopped leaving New York, 2013", loc="left", size=15, weight="bold", pad=30
    )
    axes.text(0, 1.03, subtitle, transform=axes.transAxes, fontsize=10, color="#505050")
    axes.margins(x=0.02, y=0.08)
    axes.set_ylabel("alerts per month")
    axes.set_xlabel("month in which the alert was raised (UTC)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.yaxis.grid(True, color="#E4E4E4")
    axes.set_axisbelow(True)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],  # from top to bottom as in the bars
        labels[::-1],
        title="carrier (alerts of the year)",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=9,
        alignment="left",
    )
    figure.savefig(path)
    plt.close(figure)
