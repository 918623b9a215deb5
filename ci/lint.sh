#!/usr/bin/env bash
# Style, types, layers, pages and docstrings: bash ci/lint.sh
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
stubs() (
    cd "$ROOT"
    modules=$(find flinkish/_core -name '*.pyi' | LC_ALL=C sort | sed 's/\.pyi$//' | tr / .)
    cd "$ROOM"
    # shellcheck disable=SC2086
    python -m mypy.stubtest --mypy-config-file "$ROOT/pyproject.toml" \
        --allowlist "$ROOT/ci/stubtest.allow" --ignore-unused-allowlist $modules
)

rules() (
    cd "$ROOM"
    pytest -q --tb=line -c "$ROOT/pyproject.toml" --rootdir "$ROOM" \
        tests/test_layers.py tests/test_docs.py tests/test_docstrings.py
)

cd "$ROOT"
check "ruff check" ruff check .
check "ruff format" ruff format --check .
check "mypy" mypy
check "stubtest" stubs
check "Cython hints" python ci/hints.py
check "rules of sources and pages" rules
if command -v shellcheck >/dev/null; then
    check "shellcheck" shellcheck ci/*.sh .ci/run
fi

[ ${#failed[@]} = 0 ] || fail "lint: ${failed[*]}"
say "lint: all checks passed"
