#!/usr/bin/env bash
# The floor under AddressSanitizer and UndefinedBehaviorSanitizer:
#
#   bash ci/sanitize.sh [--short]              # the rooms below
#   bash ci/sanitize.sh [--short] tests/rpc …  # what pytest is told instead
#
# Compiles with gcc's sanitizers what Cython wrote for the wheel, installs that in a directory of
# its own and runs the tests that reach it from Python: those of the floor and of the rooms that
# lean on it most.  --short runs few examples.
# Leaks are not looked for here (CPython keeps memory at exit by design); tests/isolated does.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

profile=default
[ "${1:-}" != --short ] || { profile=short && shift; }

environment dev
cd "$ROOT"
site=$WORKSHOP-sanitize/site
export FLINKISH_SANITIZE=address,undefined
exec 9>"$ROOT/.venv/lock"
flock 9
# shellcheck disable=SC2046
asked=$(digest $(sources) ci/sanitize.sh)
if [ "$(cat "$site/stamp" 2>/dev/null)" != "$asked" ]; then
    say "building with $FLINKISH_SANITIZE"
    build_wheel "$WORKSHOP-sanitize/dist"
    rm -rf "$site"
    logged sanitize pip install --disable-pip-version-check --no-deps --target "$site" \
        "$WORKSHOP-sanitize"/dist/*.whl
    echo "$asked" >"$site/stamp"
fi
exec 9>&-

cd "$ROOM"
# Of tests/rpc without those whose processes are stopped and killed by the clock.
[ $# != 0 ] || set -- tests/core tests/stateful tests/stress tests/mailbox tests/purgatory tests/time \
    tests/operators tests/task tests/rpc --ignore tests/rpc/test_failures.py \
    --ignore tests/rpc/test_leader.py --ignore tests/rpc/test_processes.py
# The C++ library goes first, or the sanitizer never sees pyarrow's exceptions being thrown.
export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONMALLOC=malloc ARROW_DEFAULT_MEMORY_POOL=system
export PYTHONPATH=$site:$ROOM
# Only Python's own output is captured: a report goes straight to the terminal as all ends.
exec python -X faulthandler -m pytest -c "$ROOT/pyproject.toml" --rootdir "$ROOM" -q --capture=sys \
    --numprocesses 2 --dist loadfile -m "not strict and not spark" --hypothesis-profile="$profile" "$@"
