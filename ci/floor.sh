#!/usr/bin/env bash
# Every kind of operator on the oldest Spark that pyproject.toml promises, in an environment of its
# own: keyed functions, windows, two inputs, asynchronous calls, batch DataFrames, processing time, and the plans of SQL over streams.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

FLOOR=$(sed -n 's/^spark = \["pyspark>=\([0-9.]*\),.*/\1/p' "$ROOT/pyproject.toml")
[ -n "$FLOOR" ] || fail "pyproject.toml names no oldest pyspark in its extra spark"
mkdir -p "$ROOT/.venv"
export PIP_CONSTRAINT=$ROOT/.venv/floor.txt ENVIRONMENT_NAME=spark-$FLOOR
echo "pyspark==$FLOOR" >"$PIP_CONSTRAINT"

environment dev
need_java
have=$(python -c 'import pyspark; print(pyspark.__version__)')
[ "$have" = "$FLOOR" ] || fail "the environment has pyspark $have, not $FLOOR"
cd "$ROOM"
export PYTHONPATH=$ROOM   # for the processes that tests start
say "tests on Spark $FLOOR"
exec python -m pytest -q -p no:cacheprovider -c "$ROOT/pyproject.toml" --rootdir "$ROOM" \
    tests/spark/test_batch.py::test_types_of_keys \
    tests/spark/test_streaming.py::test_counts_timers_late_rows_and_side_outputs \
    tests/spark/test_processing_time.py::test_timers_fire_without_data \
    tests/spark/test_windows.py::test_batch_dataframes \
    tests/spark/test_two_streams.py::test_connect \
    tests/spark/test_async_map.py::test_a_batch \
    tests/spark/tables/test_unbounded_tables.py::test_queries_that_need_all_rows_are_refused
