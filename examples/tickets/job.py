"""The driver programs of the demonstration; `main.py` starts them, and kills one.

job.py race OUT PORT OPTIONS    three ways to ask, side by side, on some of the tickets
job.py work OUT PORT OPTIONS    all tickets, with a ledger: to be killed and started again
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Spark's workers import the modules beside this one.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).resolve().parent), *filter(None, [os.environ.get("PYTHONPATH")])]
)

import client
from progress import Board, Watch
from pyspark.sql import DataFrame, Observation, SparkSession
from rich.console import Console

import flinkish.spark as fs
from flinkish.datastream.functions import AsyncRetryStrategy

LEDGER = "ledger"


def session() -> SparkSession:
    """A session on two cores of this machine."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    }
    builder = SparkSession.builder.master("local[2]").appName("tickets")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = fs.configure(builder.getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def tickets(spark: SparkSession, out: Path, count: int | None = None) -> DataFrame:
    """All tickets, or the first of them, in two partitions for each core."""
    frame = spark.read.parquet(str(out / "tickets"))
    return frame.where(f"id < {count}").repartition(2) if count else frame.repartition(4)


def ask(
    frame: DataFrame, port: int, caller: str, asked: dict[str, Any], **options: Any
) -> DataFrame:
    """Have flinkish ask the model about tickets."""
    answers: DataFrame = fs.async_map(
        frame,
        client.Triage(port, caller, options.pop("board", None)),
        client.SCHEMA,
        capacity=asked["capacity"],
        timeout="60 seconds",
        retry=AsyncRetryStrategy.exponential_backoff(
            client.ATTEMPTS - 1, "200 milliseconds", "3 seconds", 2.0, jitter=0.5
        ),
        rate=f"{asked['rate']}/s",
        idempotency_key="id",
        **options,
    )
    return answers


def race(spark: SparkSession, out: Path, port: int, options: dict[str, Any]) -> dict[str, Any]:
    """Tickets a second of a plain UDF, of threads, and of flinkish."""
    threads = options["threads"]

    def one_by_one(frame: DataFrame) -> DataFrame:
        return frame.mapInPandas(client.one_by_one(port, "naive"), client.SCHEMA)

    def on_threads(frame: DataFrame) -> DataFrame:
        return frame.mapInPandas(client.on_threads(port, "threads", threads), client.SCHEMA)

    def flinkish(frame: DataFrame) -> DataFrame:
        return ask(frame, port, "flinkish", options)

    # Worker processes, imports and the first connections are not what this is about.
    tickets(spark, out, 4).mapInPandas(client.one_by_one(port, "warm-up"), client.SCHEMA).count()
    ask(tickets(spark, out, 4), port, "warm-up", options).count()
    ways: list[tuple[str, Callable[[DataFrame], DataFrame]]] = [
        ("naive", one_by_one),
        ("threads", on_threads),
        ("flinkish", flinkish),
    ]
    found = {}
    for name, way in ways:
        count = options["race"][name]
        frame = tickets(spark, out, count).cache()
        frame.count()
        began = time.perf_counter()
        answers = way(frame).collect()
        seconds = time.perf_counter() - began
        rows = sorted(tuple(row) for row in answers)
        found[name] = {"tickets": len(rows), "seconds": seconds, "rows": rows}
    return found


def work(spark: SparkSession, out: Path, port: int, options: dict[str, Any]) -> dict[str, Any]:
    """Ask about all tickets; what a killed run has paid for is in the ledger."""
    console = Console() if sys.stdout.isatty() else Console(width=110)
    ledger = out / LEDGER
    known = options["known"]
    counts = Observation()
    board = Board()
    frame = tickets(spark, out)
    answers = ask(
        frame,
        port,
        options["caller"],
        options,
        board=board.whereabouts(),
        ledger=ledger,
        ledger_version="triage-1",  # the port and the caller's name make no other answers
        observation=counts,
    )
    began = time.perf_counter()
    with Watch(board, options["tickets"], known, console):
        answers.write.mode("overwrite").parquet(str(out / "answers"))
    seconds = time.perf_counter() - began
    board.close()
    return {"seconds": seconds, "counts": counts.get}


def main() -> None:
    """Run what the command line says and leave its result beside the tickets."""
    name, out, port, options = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    spark = session()
    found = {"race": race, "work": work}[name](spark, out, port, json.loads(options))
    (out / f"{name}.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
