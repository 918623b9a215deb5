#!/usr/bin/env bash
# What reads bytes from strangers, under fire: bash ci/fuzz.sh [seconds, default 20]
#
# Frames and handshakes with atheris, which is installed into the environment when there is a wheel
# for its Python; without, hypothesis explores the same ground with the profile `soak`: half a minute.
# Inputs that led somewhere new are kept in .venv/fuzz, where the next run starts.
#
# Logs, mapped tables, values, state frames, Arrow payloads and version files with mutations of our own (ci/fuzz_state.py): what
# reads them is compiled, and no coverage comes out of it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

seconds=${1:-20}
environment dev
cd "$ROOM"
export PYTHONPATH=$ROOM
if ! python -c 'import atheris' 2>/dev/null; then
    say "installing atheris"
    pip install --disable-pip-version-check --only-binary :all: 'atheris>=2.3' \
        >"$LOGS/atheris.log" 2>&1 || say "there is no atheris for $(python -V): using hypothesis"
fi
python ci/fuzz_state.py "$seconds"
if python -c 'import atheris' 2>/dev/null; then
    corpus=$ROOT/.venv/fuzz
    mkdir -p "$corpus"
    exec python ci/fuzz_framing.py -max_total_time="$seconds" -max_len=20000 -timeout=10 \
        -artifact_prefix="$corpus-" "$corpus"
fi
exec pytest -c "$ROOT/pyproject.toml" --rootdir "$ROOM" -q --hypothesis-profile=soak \
    tests/core/test_framing.py tests/core/test_wire_records.py tests/rpc/test_handshake.py
