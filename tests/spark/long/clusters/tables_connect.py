"""Tables on Spark Connect: ``python -m tests.spark.long.clusters.tables_connect WORK``.

Writes WORK/found.json: rows of queries in both modes, and the error of a wrong one.
"""

import json
import sys
from pathlib import Path

from flinkish.common import Types
from flinkish.common.errors import IllegalArgumentError
from flinkish.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.table import StreamTableEnvironment
from tests.spark.sessions import session
from tests.spark.tables.given import rows, with_words

GROUPED = "SELECT w, sum(n) AS s FROM V GROUP BY w"


def found_in(mode: RuntimeExecutionMode) -> list[object]:
    """The rows of a query, those of a stream after one, and an error."""
    env = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(mode)
    t_env = StreamTableEnvironment.create(env.set_parallelism(2))
    with_words(t_env, env)
    sums = t_env.to_data_stream(t_env.sql_query(GROUPED)).map(lambda row: row.s, Types.LONG())
    said = ""
    try:
        t_env.sql_query("SELECT nope FROM V")
    except IllegalArgumentError as error:
        said = str(error)
    joined = t_env.execute_sql("SELECT x.w, y.n FROM V x JOIN V y ON x.w = y.w")
    return [rows(joined), sorted(sums.execute_and_collect()), said]


def main(work: Path) -> None:
    spark = session("connect", work)
    modes = (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH)
    found = {mode.name: found_in(mode) for mode in modes}
    found["views"] = [one.name for one in spark.catalog.listTables()]
    (work / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
