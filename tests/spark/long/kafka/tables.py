"""Tables over Kafka: ``tables.py SETTINGS FORMAT``, with a file of JSON as `program` takes it.

Writes numbers to a topic, copies the even ones by SQL over it without end, reads the copies up to
their end, and prints them as rows and as they are in Kafka.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from flinkish.common import Configuration, SimpleStringSchema, WatermarkStrategy
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from flinkish.table import StreamTableEnvironment

LONGEST_S = 90


def main(settings: dict[str, str], form: str) -> None:
    spark = {"spark.jars": settings["jars"], "spark.master": "local[2]"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(spark))
    t_env = StreamTableEnvironment.create(env.set_parallelism(2))

    def topic(name: str, more: str, topic: str) -> None:
        t_env.execute_sql(
            f"CREATE TABLE {name} (k STRING, n BIGINT, t TIMESTAMP(3)) "
            f"WITH ('connector' = 'kafka', 'topic' = '{topic}-{form}', 'format' = '{form}', "
            f"'properties.bootstrap.servers' = '{settings['broker']}', "
            f"'scan.startup.mode' = 'earliest-offset'{more})"
        )

    topic("numbers", "", "numbers")
    topic("copies", ", 'scan.bounded.mode' = 'latest-offset'", "copies")
    rows = ", ".join(
        f"('k,\"{n % 3}', {n}, TIMESTAMP_NTZ '2024-01-01 00:00:{n:02}')" for n in range(30)
    )
    t_env.execute_sql(f"INSERT INTO numbers VALUES {rows}").wait()
    job = t_env.execute_sql("INSERT INTO copies SELECT * FROM numbers WHERE n % 2 = 0")
    found: list[Any] = []
    ends = time.monotonic() + LONGEST_S
    while len(found) < 15 and time.monotonic() < ends:
        found = [tuple(row) for row in t_env.from_path("copies").execute().collect()]
    client = job.get_job_client()
    assert client is not None
    client.cancel().result()
    source = KafkaSource.builder().set_bootstrap_servers(settings["broker"])
    source.set_topics(f"copies-{form}").set_bounded(KafkaOffsetsInitializer.latest())
    texts = source.set_value_only_deserializer(SimpleStringSchema()).build()
    stream = env.from_source(texts, WatermarkStrategy.no_watermarks(), "texts")
    records = sorted(stream.execute_and_collect())
    print(json.dumps([[[k, n, str(t)] for k, n, t in found], records]))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2])
