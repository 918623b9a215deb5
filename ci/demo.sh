#!/usr/bin/env bash
# A demonstration on real data, with the installed wheel:
#
#   bash ci/demo.sh [flights] [options]   # --help lists the options; give absolute paths
#   bash ci/demo.sh async [options]       # asynchronous calls: examples/tickets
#   bash ci/demo.sh realtime [options]    # milliseconds through Kafka: examples/realtime
#
# Makes its own environment; the first run takes minutes, the next ones only as long as the job.
# A demonstration is a folder of examples/ with a main.py, which exits with 0 if its result is
# right.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

name=flights
if [ $# != 0 ] && [ "${1#-}" = "$1" ]; then
    name=$1
    shift
fi
[ "$name" = async ] && name=tickets
script=$ROOT/examples/$name/main.py
if [ ! -e "$script" ]; then
    known=$(cd "$ROOT/examples" && echo */main.py)
    fail "there is no demonstration $name; there are: ${known//\/main.py/}"
fi

environment demo
need_java
cd "$ROOM"   # Spark's workers would prefer the checkout's package to the installed one
exec python "$script" "$@"
