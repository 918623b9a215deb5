"""Blocks of pages that show a part of a program run in one, and give what the program expects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checkout import ROOT, examples
from tests.spark import demos
from tests.spark.long.demos.test_pages import PAGES

pytestmark = pytest.mark.spark

# What stands in for the library of the example.
HTTPX = """
class AsyncClient:
    def __init__(self, base_url):
        assert base_url.startswith("http://")

    async def post(self, path, json, headers):
        assert headers["Idempotency-Key"]
        return Answer({"label": json["text"].upper()})

    async def aclose(self):
        pass


class Answer:
    def __init__(self, fields):
        self.fields = fields

    def raise_for_status(self):
        pass

    def json(self):
        return self.fields
"""
STAGE = """
import os, tempfile
from pyspark.sql import SparkSession, functions as F
import flinkish.spark as fs
from flinkish.common import Duration, OutputTag, Row, WatermarkStrategy
from flinkish.datastream.functions import KeyedProcessFunction, ProcessFunction

os.chdir(tempfile.mkdtemp(dir={place!r}))
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = fs.configure(builder.config("spark.sql.shuffle.partitions", 2).getOrCreate())

def files(name, rows, schema):
    spark.createDataFrame(rows, schema).write.parquet(f"{{os.getcwd()}}/{{name}}")
    return spark.readStream.schema(schema).parquet(f"{{os.getcwd()}}/{{name}}")

def timed(frame, column="ts"):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    return fs.DataStream(frame).assign_timestamps_and_watermarks(strategy, column=column)

def rows_of(frame, name):
    query = (
        frame.writeStream.format("memory").queryName(name).outputMode("append")
        .option("checkpointLocation", f"{{os.getcwd()}}/{{name}}-checkpoint")
        .trigger(availableNow=True).start()
    )
    query.awaitTermination()
    return sorted(tuple(row) for row in spark.table(name).collect())

def at(minute, second=0):
    return F.make_timestamp(*map(F.lit, (2025, 1, 1, 12, minute, second)))
"""
# A page, the number of its block, what comes before it, the block's text for another one, and
# what comes after it.
FRAGMENTS: list[tuple[str, int, str, dict[str, str], str]] = [
    (
        "docs/index.md",
        0,
        """
from flinkish.spark import DataStream
reports = spark.range(1).select(F.lit("pump").alias("device"), at(0).alias("ts"))
class DeadManSwitch(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)
    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp - 60_000
""",
        {},
        "assert [row.device for row in alerts.to_df().collect()] == ['pump']\n",
    ),
    (
        "docs/guides/limits.md",
        0,
        """
tickets = spark.range(20).select("id", F.lit("text").alias("text"))
async def ask_model(row):
    return [(row.id, row.text.upper())]
""",
        {"s3://bucket/ledgers/topics": "ledger"},
        """
assert answers.count() == 20
assert not too_much(ValueError())
assert os.listdir("ledger")
""",
    ),
    (
        "docs/guides/spark-tasks.md",
        0,
        "tickets = spark.range(20).select('id', F.lit('text').alias('text'))\n",
        {},
        "assert {row.label for row in labels.collect()} == {'TEXT'}\n",
    ),
    (
        "docs/guides/spark-tasks.md",
        1,
        """
from flinkish.functions import AsyncFunction
tickets = spark.range(20).select("id", F.lit("text").alias("text"))
""",
        {},
        """
assert progress.statistics()["metrics.cents"] == 40
assert spark.read.parquet("answers").count() == 20
""",
    ),
    (
        "docs/guides/spark-tasks.md",
        2,
        """
tickets = spark.range(20).select("id", F.lit("text").alias("text"), at(F.col("id")).alias("ts"))
stream = timed(tickets)
async def translated(text):
    return text.upper()
class CountByHour(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value.label, ctx.timestamp() // 3_600_000 * 3_600_000, 1
""",
        {},
        "assert hours.to_df().where(\"label = 'TEXT' and n = 1\").count() == 20\n",
    ),
    (
        "docs/guides/spark-tasks.md",
        3,
        "df = spark.range(20)\n",
        {},
        "assert paced.count() == 20\n",
    ),
    (
        "docs/guides/windows-vectorised.md",
        0,
        """
loads = spark.range(20).select(
    F.lit("fan").alias("device"), F.lit(0.5).alias("load"), at(F.lit(0), F.col("id")).alias("ts")
)
stream = timed(loads)
""",
        {},
        "assert loads.to_df().where('window_end = timestamp \\'2025-01-01 12:00:20\\'')"
        ".first()['count'] == 20\n",
    ),
    (
        "docs/guides/windows.md",
        0,
        """
clicks = files("clicks", [("ann", "a", 1), ("ann", "b", 61), ("ann", "c", 9_000)],
               "user string, page string, second int")
clicks = clicks.withColumn("ts", F.timestamp_seconds("second"))
""",
        {'visits.to_df().writeStream.format("console").start()': "pass"},
        "assert [visit[-1] for visit in rows_of(visits.to_df(), 'visits')] == [2]\n",
    ),
    (
        "docs/guides/joins.md",
        0,
        """
orders = [("ann", 30.0, 0), ("bob", 20.0, 0)]
orders = spark.createDataFrame(orders, "customer string, amount double, s int")
orders = orders.withColumn("ts", F.timestamp_seconds("s")).drop("s")
payments = [("ann", 20.0, 60), ("bob", 20.0, 7_200)]
payments = spark.createDataFrame(payments, "payer string, paid double, s int")
payments = payments.withColumn("at", F.timestamp_seconds("s")).drop("s")
""",
        {},
        "assert [(r.customer, r.rest) for r in settled.to_df().collect()] == [('ann', -10.0)]\n",
    ),
    (
        "docs/explanation/spark.md",
        0,
        """
class Service:
    def read_from(self, offset):
        orders = [Row(number=n, id=str(n), amount=1.5 * n, created_ms=1_000 * n) for n in range(3)]
        return orders[offset:]
service = Service()
""",
        {},
        """
query = orders.writeStream.format("memory").queryName("orders")
query = query.option("checkpointLocation", f"{os.getcwd()}/orders").start()
while spark.table("orders").count() < 3:
    query.processAllAvailable()
query.stop()
assert sorted((r.id, r.amount) for r in spark.table("orders").collect()) == [
    ("0", 0.0), ("1", 1.5), ("2", 3.0)
]
""",
    ),
    (
        "docs/explanation/spark.md",
        1,
        """
LATE = OutputTag("late", "device string")
readings = files("readings", [("fan", 1), ("pump", 2)], "device string, second int")
class Both(ProcessFunction):
    pass
class Alert(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield (value.device,)
        yield LATE, (value.device,)
stream = timed(readings.withColumn("ts", F.timestamp_seconds("second"))).key_by("device").process(
    Alert(), "device string"
)
""",
        {'"checkpoint")': '"checkpoint").trigger(availableNow=True)', 'f"': 'os.getcwd() + f"/'},
        """
query.awaitTermination()
for name in ("alerts", "late"):
    assert sorted(r.device for r in spark.read.parquet(f"{os.getcwd()}/{name}/0").collect()) == [
        "fan", "pump"
    ]
""",
    ),
]
PRINTED = re.compile(r"print\(.*\) +# (.*)")
MARK = "=== end of block ==="


def program(place: Path) -> tuple[str, list[str]]:
    """One program of all fragments, and what each prints."""
    parts = [STAGE.format(place=str(place))]
    shown = []
    for page, number, before, swaps, after in FRAGMENTS:
        code = examples(page)[number]
        for text, other in swaps.items():
            assert text in code, f"{page} has no {text!r} in block {number}"
            code = code.replace(text, other)
        parts.append(f"# {page}, block {number}\n{before}\n{code}\n{after}\nprint({MARK!r})\n")
        shown.append("\n".join(PRINTED.findall(code)))
    return "\n".join(parts), shown


def test_fragments_run_in_their_programs(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "httpx.py").write_text(HTTPX)
    code, shown = program(tmp_path)
    script = tmp_path / "fragments.py"
    script.write_text(code)
    path = f"{tmp_path}:{environment['PYTHONPATH']}"
    done = demos.run_script(script, env=environment | {"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr[-8000:]
    printed = [text.strip() for text in done.stdout.split(MARK)][:-1]
    assert len(printed) == len(FRAGMENTS)
    for (page, number, *_), told, wanted in zip(FRAGMENTS, printed, shown, strict=True):
        if wanted.startswith("which"):  # a remark
            wanted = told
        assert told == wanted, f"{page}, block {number}"


def test_every_block_of_every_page_runs_in_a_test() -> None:
    """Here, in `test_pages`, or in the test of the page's room."""
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    found = {
        (page.relative_to(ROOT).as_posix(), number)
        for page in pages
        for number in range(len(examples(page.relative_to(ROOT).as_posix())))
    }
    elsewhere = {  # page: numbers of its blocks
        "README.md": range(5),
        "docs/guides/async.md": [0],
        "docs/guides/control-plane.md": [0],
        "docs/guides/joins.md": [1, 2, 3],
        "docs/guides/mailbox.md": [0],
        "docs/guides/purgatory.md": [0, 1, 2, 3],
        "docs/guides/rpc.md": [0, 1, 2],
        "docs/guides/tasks.md": [0],
        "docs/guides/windows.md": [1],
        "docs/guides/windows-vectorised.md": [1],
        "docs/reference/rpc-transport.md": [0],
    }
    run = {(page, number) for page, numbers in elsewhere.items() for number in numbers}
    run |= {(page, number) for page, number, *_ in FRAGMENTS}
    assert {(page, number) for page, number in found if page not in PAGES} == run
