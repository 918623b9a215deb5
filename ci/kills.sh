#!/usr/bin/env bash
# Queries that are killed with -9 again and again, driver, JVM or worker, with state exact each time:
#
#   bash ci/kills.sh [kills of each test, default 20] [what pytest is told]
#
# bash ci/test.sh --all has the same tests in a short form.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

export FLINKISH_KILLS=${1:-20}
shift || true
[ $# != 0 ] || set -- tests/spark/long/kills tests/spark/long/kafka/test_kafka.py \
    tests/spark/long/kafka/test_real_time.py
# A test with many kills takes long without hanging.
exec bash "$ROOT/ci/test.sh" -o faulthandler_timeout=$((600 + 60 * FLINKISH_KILLS)) "$@"
