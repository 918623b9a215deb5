#!/usr/bin/env bash
# Style, types and layers: bash ci/lint.sh
#
# Runs every check even when one fails, then names those that did.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

environment dev
failed=()

check() {
    local name=$1
    shift
    say "$name"
    "$@" || failed+=("$name")
}

# The stubs against the modules that were compiled from the sources they stand for.
stubs() {
    local modules
    modules=$(cd "$ROOT" && find flinkish/_core -name '*.pyx' | sort | while read -r source; do
        [ ! -e "${source%x}i" ] || echo "${source%.pyx}" | tr / .
    done)
    # shellcheck disable=SC2086
    cd "$ROOM" && python -m mypy.stubtest --mypy-config-file "$ROOT/pyproject.toml" $modules
}

cd "$ROOT"
check "ruff check" ruff check .
check "ruff format" ruff format --check .
check "mypy" mypy
check "stubtest" stubs
cd "$ROOT"
check "Cython hints" python ci/hints.py
if command -v shellcheck >/dev/null; then
    check "shellcheck" shellcheck ci/*.sh .ci/run
fi
cd "$ROOM"
check "layers" pytest -q -c "$ROOT/pyproject.toml" --rootdir "$ROOM" tests/test_layers.py

[ ${#failed[@]} = 0 ] || fail "lint: ${failed[*]}"
say "lint: all checks passed"
