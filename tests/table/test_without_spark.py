"""Tables are imported, and made of streams, without Spark."""

import subprocess
import sys

from tests.processes import LONGEST_S

_PROGRAM = """
import sys
from flinkish.common import Types
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.table import *
from flinkish.table.expressions import col
env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_batch_mode())
stream = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.LONG()]))
t_env.create_temporary_view("V", stream)
t_env.execute_sql("CREATE TABLE P (w STRING) WITH ('connector' = 'print')").print()
t_env.from_path("V").print_schema()
t_env.execute_sql("SHOW TABLES").print()
assert col("w") is not None
assert "pyspark" not in sys.modules
assert "pandas" not in sys.modules
"""


def test_a_table_of_a_stream_is_made_without_spark() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        check=True,
        timeout=LONGEST_S,
        capture_output=True,
        text=True,
    )
    assert "  `f0` STRING,\n  `f1` BIGINT\n" in done.stdout
