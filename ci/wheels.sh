#!/usr/bin/env bash
# Does what we would publish work elsewhere?  bash ci/wheels.sh [3.12 …]
#
# Makes the sdist, and for every Python asked for (all of 3.10 – 3.13 that the machine has): a
# wheel from that sdist in an isolated build, installed in a fresh environment outside the
# checkout with no compiler in reach, then the smoke test and all tests that need no Spark.
# The distributions stay in dist/.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

environment dev
asked=${*:-3.10 3.11 3.12 3.13}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

say "making the sdist"
mkdir "$place/tree"
tar cf - -C "$ROOT" --exclude=./.git --exclude=./.venv --exclude=./build --exclude=./dist \
    --exclude=./.cache --exclude=./out --exclude='*.so' --exclude=__pycache__ . |
    tar xf - -C "$place/tree"
(cd "$place/tree" && logged sdist python -W error -c \
    "from setuptools.build_meta import build_sdist; build_sdist('$place')")
sdist=$(echo "$place"/flinkish-*.tar.gz)
tar xzf "$sdist" -C "$place"
source=${sdist%.tar.gz}
for needed in LICENSE ci/env.sh .ci/run tests/conftest.py flinkish/_core/memory/segment.pyx \
    flinkish/_core/memory/segment.pxd flinkish/py.typed; do
    [ -e "$source/$needed" ] || fail "the sdist has no $needed"
done
[ -z "$(find "$source" -name '*.c' -o -name '*.so')" ] || fail "the sdist has built files"
mkdir -p "$ROOT/dist" "$place/room"
cp "$sdist" "$ROOT/dist"
ln -s "$source/tests" "$place/room/tests"

tried=()
for version in $asked; do
    base=$(python_of "$version")
    if [ -z "$base" ]; then
        say "Python $version: none on this machine"
        continue
    fi
    venv=$place/py$version
    say "Python $version: building the wheel from the sdist"
    logged "venv-$version" "$base" -m venv "$venv"
    logged "wheel-$version" "$venv/bin/pip" wheel --disable-pip-version-check --no-deps \
        --wheel-dir "$place/wheels-$version" "$sdist"
    say "Python $version: installing it where no compiler is in reach"
    alone=(env -i "PATH=$venv/bin" "HOME=$place" LANG=C.UTF-8)
    logged "install-$version" env "PATH=$venv/bin" "$venv/bin/pip" install \
        --disable-pip-version-check "$(echo "$place/wheels-$version"/*.whl)[arrow]" pytest hypothesis psutil fsspec "pandas<3"
    cd "$place/room"
    "${alone[@]}" python -W error "$source/ci/smoke.py"
    "${alone[@]}" pytest -q -c "$source/pyproject.toml" --rootdir . \
        -m "not strict and not spark" --ignore tests/spark -p no:cacheprovider
    cp "$place/wheels-$version"/*.whl "$ROOT/dist"
    tried+=("$version")
done
[ ${#tried[@]} != 0 ] || fail "none of $asked is on this machine"
say "sdist and wheels work on Python ${tried[*]}; they are in dist/"
