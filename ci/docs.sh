#!/usr/bin/env bash
# The site of docs/: bash ci/docs.sh [--serve]
#
# Makes its own environment and writes the site to out/site.  Warnings are errors: a link, an anchor or
# a name of the API that leads nowhere fails.  The site loads nothing from other hosts; its search
# needs a server, and --serve starts one on the loopback that builds anew after each change.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

environment docs
cd "$ROOT"
export NO_MKDOCS_2_WARNING=1 PYTHONPYCACHEPREFIX="$ROOT/.venv/pycache"
[ "${1:-}" != --serve ] || exec mkdocs serve --dev-addr 127.0.0.1:8000
mkdocs build 2>&1 | { grep -v "^INFO" || true; } >&2
python ci/documented.py out/site
foreign=$(grep -rlE '<(script|link|img|iframe)[^>]* (src|href)="?(https?:)?//' out/site --include='*.html' || true)
[ -z "$foreign" ] || fail "these pages load something from another host: $foreign"
say "the site is in out/site: $(find out/site -name '*.html' | wc -l) pages"
