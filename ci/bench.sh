#!/usr/bin/env bash
# Benchmarks.
#
#   bash ci/bench.sh                 # every whole-process benchmark, one after the other
#   bash ci/bench.sh NAME [args …]   # one of them: asv_bench/whole/NAME.py
#   bash ci/bench.sh asv [PATTERN]   # the asv benchmarks against the installed wheel
#
# Figures are worth comparing within one run on one quiet machine only.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

environment dev
cd "$ROOT/asv_bench"
if [ "${1:-}" = asv ]; then
    asv machine --yes >/dev/null
    exec asv run --python=same --show-stderr ${2:+--bench "$2"}
fi

if [ $# != 0 ]; then
    names=("$1")
    shift
else
    mapfile -t names < <(find whole -name '*.py' ! -name '_*' -printf '%f\n' 2>/dev/null | sort)
    names=("${names[@]%.py}")
fi
[ ${#names[@]} != 0 ] || fail "there is no whole-process benchmark in asv_bench/whole"
cd "$ROOM"
for name in "${names[@]}"; do
    [ -e "asv_bench/whole/$name.py" ] || fail "no asv_bench/whole/$name.py"
    [[ $name != spark_* ]] || need_java
    say "benchmark $name"
    python "asv_bench/whole/$name.py" "$@"
done
