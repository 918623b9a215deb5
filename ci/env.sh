# Sourced by the scripts beside it; makes what a job needs, and only what is missing.
#
#   . ci/env.sh
#   environment dev     # compiler, Python, virtual environment, the wheel built and installed
#   need_java           # Java 17 or newer, for jobs that start Spark
#
# Afterwards `python`, `pytest` and the rest are those of the environment, ROOT is the checkout
# and ROOM a directory from which the tests see the installed package and not the checkout's.
# ENVIRONMENT_NAME names an environment beside the usual one, for jobs with other releases of packages.
# FLINKISH_PYTHON names the Python to use; without it the first of 3.11, 3.12, 3.13 and 3.10.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VERSIONS="3.11 3.12 3.13 3.10"
LOGS=$ROOT/.venv/logs

say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }

fail() {
    say "STOPPED: $*"
    exit 1
}

# Run a command with its output in a log; show the log's end if it fails.
logged() {
    local log=$LOGS/$1.log
    shift
    mkdir -p "$LOGS"
    if ! "$@" >"$log" 2>&1; then
        tail -n 80 "$log" >&2
        fail "this command failed: $* (all of its output: $log)"
    fi
}

# Install packages of the system if we may: as root, or with sudo that asks nothing.
system_install() {
    local become=()
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || return 1
        become=(sudo -n)
    fi
    command -v apt-get >/dev/null || return 1
    mkdir -p "$LOGS"
    say "installing $* with apt-get"
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get update && apt-get install -y --no-install-recommends "$@"' sh "$@" \
        >"$LOGS/apt.log" 2>&1 || {
        say "apt-get could not install it (its output: $LOGS/apt.log)"
        return 1
    }
}

# ---------------------------------------------------------------------------------- Python

# Is $1 a CPython that we support, that can make environments and compile extensions?
works() {
    "$1" -c '
import ensurepip, os, sys, sysconfig, venv
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
fits = (3, 10) <= sys.version_info[:2] <= (3, 13) and sys.implementation.name == "cpython"
sys.exit(not (fits and os.path.exists(headers)))' 2>/dev/null
}

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# Print the path of the first working Python of version $1, if there is one.
python_of() {
    local candidate
    for candidate in "$(command -v "python$1")" "${HOME:-}"/.pyenv/versions/"$1".*/bin/python \
        /usr/local/bin/"python$1" /usr/bin/"python$1" "$(command -v python3)"; do
        if [ -x "$candidate" ] && works "$candidate" && [ "$(version_of "$candidate")" = "$1" ]; then
            "$candidate" -c 'import sys; print(sys.executable)'   # not the shim that led there
            return
        fi
    done
}

find_python() {
    local version
    BASE_PYTHON=${FLINKISH_PYTHON:-}
    if [ -n "$BASE_PYTHON" ]; then
        works "$BASE_PYTHON" || fail "FLINKISH_PYTHON=$BASE_PYTHON is not a CPython 3.10 – 3.13 \
with venv, ensurepip and Python.h"
        return
    fi
    for version in $VERSIONS; do
        BASE_PYTHON=$(python_of "$version")
        [ -z "$BASE_PYTHON" ] || return 0
    done
}

need_python() {
    find_python
    if [ -z "$BASE_PYTHON" ]; then
        system_install python3 python3-venv python3-dev || true
        find_python
    fi
    [ -n "$BASE_PYTHON" ] || fail "no CPython 3.10 – 3.13 with venv, ensurepip and Python.h; \
install one (Debian: python3 python3-venv python3-dev) or name one in FLINKISH_PYTHON"
}

need_compiler() {
    command -v gcc >/dev/null || system_install gcc libc6-dev || true
    command -v gcc >/dev/null ||
        fail "no C compiler; install gcc and the C library's headers (Debian: gcc libc6-dev)"
}

# ------------------------------------------------------------------------------------ Java

# Set JAVA_HOME to a Java of at least 17, if the machine has one.
find_java() {
    local java version
    for java in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java)" /usr/lib/jvm/*/bin/java; do
        [ -x "$java" ] || continue
        version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
        if [ "${version:-0}" -ge 17 ]; then
            JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$java")")")
            export JAVA_HOME
            return 0
        fi
    done
    return 1
}

need_java() {
    if ! find_java; then
        system_install openjdk-17-jre-headless || system_install openjdk-21-jre-headless || true
        find_java || fail "Spark needs Java 17 or newer and none was found; install one \
(Debian: openjdk-17-jre-headless, Fedora: java-21-openjdk-headless) or set JAVA_HOME"
    fi
    say "Java: $JAVA_HOME"
}

# ----------------------------------------------------------------------------- environment

digest() { sha256sum "$@" | sha256sum | cut -c 1-32; }

sources() {
    find setup.py pyproject.toml MANIFEST.in README.md LICENSE flinkish -type f \
        ! -name '*.so' ! -name '*.py[cod]' | LC_ALL=C sort
}

# What the [build-system] table of pyproject.toml asks for, a line each.
build_requirements() {
    python -c '
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["build-system"]["requires"]))'
}

# Copy the sources to the workshop and build a wheel into $1.  What was translated and compiled
# earlier is kept, unless its source is gone or the flags may have changed.
build_wheel() {
    local dist=$1 place=$WORKSHOP module source
    mkdir -p "$place"
    cmp -s setup.py "$place/setup.py" || rm -rf "$place/build"
    rm -rf "$dist" "$place"/{flinkish,flinkish.egg-info} "$place"/build/{,*/}bdist*
    find "$place" -path '*/lib.*' -type f ! -name '*.so' -delete
    find "$place" -path '*/lib.*' -name '*.so' | while read -r module; do
        source=${module#*/lib.*/}
        [ -e "${source%%.*}.pyx" ] || rm "$module"
    done
    sources | tar cf - -T - | tar xf - -C "$place"
    logged wheel pip wheel --disable-pip-version-check --no-deps --no-build-isolation \
        --wheel-dir "$dist" "$place"
}

# Make the environment with the extra $1 (dev, demo or docs) and install the package as it is now.
environment() {
    local extra=$1 before version asked have wheel name
    before=$PWD
    cd "$ROOT"
    need_python
    need_compiler
    version=$(version_of "$BASE_PYTHON")
    VENV=$ROOT/.venv/py$version${ENVIRONMENT_NAME:+-$ENVIRONMENT_NAME}
    ROOM=$VENV/room
    WORKSHOP=$ROOT/.venv/build-$version
    mkdir -p "$ROOT/.venv"
    exec 9>"$ROOT/.venv/lock"
    flock 9

    if ! "$VENV/bin/python" -c '' 2>/dev/null; then
        say "making $VENV with $BASE_PYTHON"
        rm -rf "$VENV"
        logged venv "$BASE_PYTHON" -m venv "$VENV"
    fi
    export VIRTUAL_ENV=$VENV PATH=$VENV/bin:$PATH
    unset PYTHONPATH PYTHONHOME SPARK_HOME
    # Spark starts its workers with whatever `python3` is unless told; a machine whose own
    # name does not resolve cannot bind without the address.
    export PYSPARK_PYTHON=$VENV/bin/python PYSPARK_DRIVER_PYTHON=$VENV/bin/python
    export SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-127.0.0.1}
    mkdir -p "$VENV/stamps" "$ROOM"

    have=$VENV/stamps/wheel
    # shellcheck disable=SC2046
    asked=$(digest $(sources))
    if [ "$(cat "$have" 2>/dev/null)" != "$asked" ]; then
        rm -f "$have"
        say "installing the build requirements"
        # shellcheck disable=SC2046
        logged requirements pip install --disable-pip-version-check $(build_requirements)
        say "building the wheel (one to three minutes the first time)"
        build_wheel "$WORKSHOP/dist"
        logged install pip install --disable-pip-version-check --no-deps --force-reinstall \
            "$WORKSHOP"/dist/*.whl
        echo "$asked" >"$have"
    fi

    have=$VENV/stamps/$extra
    asked=$(digest pyproject.toml)
    if [ "$(cat "$have" 2>/dev/null)" != "$asked" ]; then
        wheel=$(echo "$WORKSHOP"/dist/*.whl)
        say "installing the requirements of flinkish[$extra] (pyspark alone is 400 MB)"
        logged "$extra" pip install --disable-pip-version-check "$wheel[$extra]"
        echo "$asked" >"$have"
    fi

    for name in tests ci asv_bench examples; do
        ln -sfn "$ROOT/$name" "$ROOM/$name"
    done
    exec 9>&-
    cd "$before"
    say "environment ready: $VENV ($(python -V))"
}
