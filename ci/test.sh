#!/usr/bin/env bash
# The tests, against the installed wheel.
#
#   bash ci/test.sh                      # every room, and Spark in local mode: some minutes
#   bash ci/test.sh --all                # also kills, clusters, demonstrations and stress
#   bash ci/test.sh tests/core -k heap   # what pytest is told, with paths from the checkout's root
#
# Makes its own environment; the first run takes minutes, the next ones seconds.  The first two
# forms run two processes side by side, each with a Spark session of its own.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

environment dev
need_java
cd "$ROOM"
export PYTHONPATH=$ROOM   # for the processes that tests start
[ "$VENV/spark.jsa" -nt "$VENV/stamps/dev" ] || {
    say "keeping Spark's Java classes, so that its JVMs start in less time"
    python -m tests.spark.java_classes >"$LOGS/classes.log" 2>&1 || say "that failed: $LOGS/classes.log"
}
case "$*" in
    "" | --all) set -- --numprocesses 2 --dist loadfile --no-loadscope-reorder "$@" ;;
esac
exec pytest -c "$ROOT/pyproject.toml" --rootdir "$ROOM" "$@"
