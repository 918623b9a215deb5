#!/usr/bin/env bash
# All tests, against the installed wheel: bash ci/test.sh [pytest arguments]
#
# Makes its own environment; the first run takes minutes, the next ones seconds.  Arguments go
# to pytest, with paths from the root of the checkout: bash ci/test.sh tests/core -k heap
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

environment dev
need_java
cd "$ROOM"
export PYTHONPATH=$ROOM   # for the processes that tests start
exec pytest -c "$ROOT/pyproject.toml" --rootdir "$ROOM" "$@"
