"""A rate for a whole job, kept by one partition and by eight: what a server sees of it.

    bash ci/bench.sh spark_limits [RATE [SECONDS]]

Each number of partitions calls a server of this machine for ``SECONDS``, with `Rate` of ``RATE`` a
second and a place for each partition.  The server is a process of its own and notes when each call
was begun (by the caller's word: the clock is the machine's) and when it came.  Printed are the
most and the fewest calls of any 5 s, as a share of the rate: the first second, in which partitions
start one by one, and the last, in which they end so, aside.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from bisect import bisect_left
from typing import Any

from _common import session
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import flinkish.spark as fs

cloudpickle.register_pickle_by_value(sys.modules[__name__])

LATENCY_S = 0.02
WINDOW_S = 5
PARTITIONS = (1, 2, 4, 8)


class Call:
    """Asks the server, by a connection of its own."""

    def __init__(self, port: int, caller: int) -> None:
        self.port = port
        self.caller = caller

    async def __call__(self, row: Any) -> list[Any]:
        """The row."""
        begun = time.monotonic_ns()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{self.caller} {begun}\n".encode())
        await reader.readline()
        writer.close()
        return [(row.n,)]


async def serve() -> None:
    """Answer, until standard input ends; then print what came: caller, begun, came."""
    seen: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readline()).decode().strip()
        seen.append(f"{asked} {time.monotonic_ns()}")
        await asyncio.sleep(LATENCY_S)
        writer.write(b"ok\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print("\n".join(seen), flush=True)


def extremes(times_ns: list[int], rate: float) -> tuple[float, float]:
    """The fewest and the most calls of any window that is not at an end, as shares of the rate."""
    times = sorted(times_ns)
    width = int(WINDOW_S * 1e9)
    first, last = times[0] + 10**9, times[-1] - 10**9
    begins = [at for at in times if first <= at <= last - width]
    counts = [bisect_left(times, at + width) - bisect_left(times, at) for at in begins]
    return (min(counts) - 1) / (rate * WINDOW_S), max(counts) / (rate * WINDOW_S)


def ask(spark: SparkSession, call: Call, partitions: int, count: int, rate: int) -> None:
    """So many calls of so many partitions."""
    rows = spark.range(0, count, 1, partitions).withColumnRenamed("id", "n")
    answers = fs.async_map(rows, call, "n bigint", timeout="1 minute", rate=f"{rate}/s")
    answers.write.format("noop").mode("overwrite").save()


def main(rate: int, seconds: int) -> None:
    """Print a line for each number of partitions."""
    server = subprocess.Popen(
        [sys.executable, __file__, "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = int(server.stdout.readline())
    spark = session("1g", cores=max(PARTITIONS))
    ask(spark, Call(port, 0), max(PARTITIONS), rate, rate)  # for the workers to start
    for partitions in PARTITIONS:
        ask(spark, Call(port, partitions), partitions, rate * seconds, rate)
    spark.stop()
    told, _ = server.communicate("")
    calls = [tuple(map(int, line.split())) for line in told.splitlines()]
    for partitions in PARTITIONS:
        mine = [call[1:] for call in calls if call[0] == partitions]
        texts = []
        for what, times in zip(("begun", "came in"), zip(*mine, strict=True), strict=True):
            low, high = extremes(list(times), rate)
            texts.append(f"{what} {low - 1:+.2%} to {high - 1:+.2%}")
        print(f"{partitions} partitions, {len(mine):,d} calls at {rate}/s: {', '.join(texts)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        given = [int(word) for word in sys.argv[1:]]
        main(*(given + [500, 12][len(given) :]))
