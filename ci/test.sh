#!/usr/bin/env bash
# The tests, against the installed wheel.
#
#   bash ci/test.sh                      # every room, and Spark in local mode: some minutes
#   bash ci/test.sh --all                # also kills, clusters, demonstrations and stress
#   bash ci/test.sh tests/core -k heap   # what pytest is told, with paths from the checkout's root
#   bash ci/test.sh --durations [...]    # also the fifty tests and files that take most CPU
#
# Makes its own environment; the first run takes minutes, the next ones seconds.  The first two
# forms run two processes side by side, each with a Spark session of its own.  The last line says
# what all processes took together, JVMs and Spark's workers among them.
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
slowest=()
[ "${1:-}" != --durations ] || { slowest=(--slowest 50) && shift; }
case "$*" in
    "" | --all) set -- --numprocesses 2 --dist loadfile --no-loadscope-reorder "$@" ;;
esac
exec python -m tests.cpu pytest -c "$ROOT/pyproject.toml" --rootdir "$ROOM" "${slowest[@]}" "$@"
