#!/usr/bin/env bash
# The rooms that need no GIL, on a free-threaded CPython 3.13:
#
#   bash ci/freethreading.sh                       # the tests below
#   bash ci/freethreading.sh tests/stress …        # what pytest is told instead
#   bash ci/freethreading.sh --thread-sanitizer    # tests of threads, interpreter and floor under
#                                                  # ThreadSanitizer; its reports fail the run
#
# FLINKISH_FREETHREADED names the interpreter.  Without it python3.13t is taken, and built from
# Debian's source package of Python 3.13 if there is none (apt, some minutes, kept in .venv).
# FLINKISH_THREAD_SANITIZED names one that was built --with-thread-sanitizer, in its source
# directory: installing itself would take it an hour.
# Rooms whose modules do not claim to be free-threaded are not here: importing one turns the GIL
# on.  msgspec, which RPC and tasks need, cannot be installed for this interpreter at all.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

SUITE=trixie
# Not test_metrics: its clock comes from a room that turns the GIL on.
TESTS=(tests/mailbox --ignore tests/mailbox/test_metrics.py tests/purgatory
    tests/core/test_mailbox_queue.py tests/core/test_timing_wheel.py
    tests/stress/test_mailbox_threads.py tests/stress/test_purgatory_threads.py
    tests/stress/test_timing_wheel_threads.py)

RACES=(tests/stress/test_mailbox_threads.py tests/stress/test_purgatory_threads.py
    tests/stress/test_timing_wheel_threads.py tests/core/test_mailbox_queue.py
    tests/purgatory/test_system_timer.py tests/purgatory/test_executors.py tests/purgatory/test_reaper.py)

free_threaded() { "$1" -c 'import sysconfig; assert sysconfig.get_config_var("Py_GIL_DISABLED")' 2>/dev/null; }

# Fetch the sources of Debian's Python 3.13 into the directory $1; apt checks their signatures.
fetch_python() {
    local apt=$1/apt mirror
    command -v apt-get >/dev/null || fail "there is no python3.13t and no apt-get to fetch its \
sources with; name a free-threaded CPython 3.13 in FLINKISH_FREETHREADED"
    mkdir -p "$apt"/{lists,archives}/partial
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -m 1 '/debian/\?$') ||
        fail "apt-get of this machine knows no mirror of Debian; name a free-threaded CPython 3.13 \
in FLINKISH_FREETHREADED"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $SUITE main" \
        >"$apt/sources.list"
    local options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State::lists="$apt/lists" -o Dir::Cache::archives="$apt/archives")
    logged apt-update apt-get "${options[@]}" update
    (cd "$1" && logged apt-source apt-get "${options[@]}" source --download-only python3.13)
}

# Build it in $1/source with the options that follow.
build_python() {
    local place=$1
    shift
    say "fetching and building a free-threaded CPython $* (some minutes, once)"
    rm -rf "$place"
    mkdir -p "$place/source"
    fetch_python "$place"
    tar xf "$place"/python3.13_*.orig.tar.xz -C "$place/source" --strip-components 1
    (
        cd "$place/source"
        logged configure ./configure --disable-gil "$@"
        logged make make -j "$(nproc)"
    )
}

install_python() {
    build_python "$1" --prefix="$1/python" --with-ensurepip=install
    (cd "$1/source" && logged make-install make install)
    rm -rf "$1/source"
}

sanitize=
[ "${1:-}" != --thread-sanitizer ] || { sanitize=thread && shift; }

need_compiler
interpreter=${FLINKISH_FREETHREADED:-$(command -v python3.13t || echo "$ROOT/.venv/cpython-3.13t/python/bin/python3.13t")}
if ! free_threaded "$interpreter"; then
    [ -z "${FLINKISH_FREETHREADED:-}" ] || fail "FLINKISH_FREETHREADED=$interpreter is not free-threaded"
    install_python "$ROOT/.venv/cpython-3.13t"
fi
if [ "$sanitize" ]; then
    sanitized=${FLINKISH_THREAD_SANITIZED:-$ROOT/.venv/cpython-3.13t-tsan/source/python}
    [ -x "$sanitized" ] || build_python "$ROOT/.venv/cpython-3.13t-tsan" --with-thread-sanitizer
fi

cd "$ROOT"
VENV=$ROOT/.venv/py3.13t
ROOM=$VENV/room
WORKSHOP=$ROOT/.venv/build-3.13t${sanitize:+-tsan}
mkdir -p "$ROOM"
"$VENV/bin/python" -c '' 2>/dev/null || logged venv "$interpreter" -m venv "$VENV"
export VIRTUAL_ENV=$VENV PATH=$VENV/bin:$PATH
unset PYTHONPATH PYTHONHOME PYTHON_GIL
# Wheels of the large ones: they take an hour to build.
logged requirements pip install --disable-pip-version-check --only-binary numpy,pyarrow,Cython,hypothesis \
    setuptools Cython numpy pyarrow hypothesis psutil pytest typing_extensions
say "building the wheel"
FLINKISH_SANITIZE=$sanitize build_wheel "$WORKSHOP/dist"
for name in tests ci; do
    ln -sfn "$ROOT/$name" "$ROOM/$name"
done
if [ "$sanitize" ]; then
    rm -rf "$WORKSHOP/site"
    logged install pip install --disable-pip-version-check --no-deps --target "$WORKSHOP/site" \
        "$WORKSHOP"/dist/*.whl
    export PYTHONPATH=$WORKSHOP/site:$ROOM:$VENV/lib/python3.13t/site-packages
    # CPython's own races: those that it lists, interned names, and a list that looks at an item
    # while another thread takes it away (it notices that the memory is in use again).
    cat "$(dirname "$sanitized")/Tools/tsan/suppressions_free_threading.txt" - \
        >"$WORKSHOP/suppressions.txt" <<<$'race:list_get_item_ref\nrace:intern_common'
    export TSAN_OPTIONS="exitcode=66 history_size=7 suppressions=$WORKSHOP/suppressions.txt"
    [ $# != 0 ] || set -- "${RACES[@]}"
    cd "$ROOM"
    say "$("$sanitized" -VV), under ThreadSanitizer"
    exec "$sanitized" -m pytest -c "$ROOT/pyproject.toml" --rootdir "$ROOM" -q --capture=sys "$@"
fi
logged install pip install --disable-pip-version-check --no-deps --force-reinstall "$WORKSHOP"/dist/*.whl
cd "$ROOM"
export PYTHONPATH=$ROOM
python -W error -c 'import flinkish.mailbox, flinkish.purgatory, sys; assert not sys._is_gil_enabled()'
say "$(python -VV): the GIL is off"
[ $# != 0 ] || set -- "${TESTS[@]}"
exec python -m pytest -c "$ROOT/pyproject.toml" --rootdir "$ROOM" -q "$@"
