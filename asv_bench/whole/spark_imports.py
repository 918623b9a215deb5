"""CPU time of imports, by turns in several checkouts: those of a program, those of a worker.

    python -m asv_bench.whole.spark_imports [--turns N] [CHECKOUT...]

Each import runs in an interpreter of its own, after the libraries that it stands on.  ``a keyed
worker`` is a worker of Spark in the first micro-batch of a query: all the CPU that its process has
taken when the function is opened, and the modules of flinkish that it has by then.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

SPARK = "import pyspark.sql, pyspark.sql.streaming, numpy, pyarrow"
WORKER = "import pyspark.worker, pyspark.sql.streaming, numpy, pyarrow.compute"
IMPORTS = {
    "import flinkish": ("", "import flinkish"),
    "import flinkish.datastream": ("", "import flinkish.datastream"),
    "import flinkish.spark": (SPARK, "import flinkish.spark"),
    "from flinkish.spark import DataStream": (SPARK, "from flinkish.spark import DataStream"),
    "what a keyed worker loads": (
        WORKER,
        "from flinkish.spark.keyed import operator_run, packing, processor; "
        "import flinkish.operators.process_definitions",
    ),
    "what a window worker loads": (
        WORKER,
        "from flinkish.spark.keyed import operator_run, packing, processor; "
        "import flinkish.operators.window_engine",
    ),
}
PROGRAM = """
import sys, time
{first}
before = time.process_time()
{then}
spent = time.process_time() - before
print(spent * 1000, sum(name.split(".")[0] == "flinkish" for name in sys.modules))
"""
QUERY = """
import sys, tempfile, time
from pyspark.sql import SparkSession
import flinkish.spark as fs
from flinkish.datastream.functions import KeyedProcessFunction

class Measure(KeyedProcessFunction):
    def open(self, runtime_context):
        loaded = sum(name.split(".")[0] == "flinkish" for name in sys.modules)
        self.found = time.process_time() * 1000, loaded

    def process_element(self, value, ctx):
        yield self.found

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.log.level", "OFF")
    .getOrCreate()
)
fs.configure(spark)
with tempfile.TemporaryDirectory() as folder:
    spark.range(8).write.json(folder + "/in")
    rows = spark.readStream.schema("id bigint").json(folder + "/in")
    keyed = fs.DataStream(rows).key_by("id").process(Measure(), schema="ms double, modules bigint")
    writer = keyed.to_df().writeStream.format("memory").queryName("found")
    writer = writer.option("checkpointLocation", folder + "/checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()
    print(*spark.sql("SELECT ms, modules FROM found").first())
spark.stop()
"""


def measured(program: str, checkout: str) -> tuple[float, int]:
    """Milliseconds of CPU, and modules of flinkish."""
    environment = os.environ | {
        "PYTHONPATH": str(Path(checkout).resolve()),
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(
        command, env=environment, cwd="/", stdout=subprocess.PIPE, text=True, check=True
    )
    milliseconds, modules = done.stdout.split()[-2:]
    return float(milliseconds), int(modules)


def main() -> None:
    """Print a row of a table for each kind of import."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("checkouts", nargs="*", default=[str(Path(__file__).parents[2])])
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    programs = {
        name: PROGRAM.format(first=first, then=then) for name, (first, then) in IMPORTS.items()
    }
    for name, program in (programs | {"a keyed worker": QUERY}).items():
        found: dict[str, list[tuple[float, int]]] = {path: [] for path in given.checkouts}
        for _ in range(given.turns):
            for path in given.checkouts:
                found[path].append(measured(program, path))
        shown = (
            f"{statistics.median(ms for ms, _ in turns):.0f} ms, {turns[0][1]} modules"
            for turns in found.values()
        )
        print(f"| {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
