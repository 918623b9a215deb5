"""Which modules of the floor claim to need no GIL; ``ci/freethreading.sh`` runs them without it."""

import os

from tests.checkout import ROOT
from tests.processes import ran

CLAIM = "# cython: freethreading_compatible=True\n"
ROOMS = ("flinkish.mailbox", "flinkish.purgatory")


def test_all_that_the_claiming_rooms_load_claims_it_and_nothing_else(
    environment: dict[str, str],
) -> None:
    sources = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in (ROOT / "flinkish" / "_core").rglob("*.pyx")
    }
    claiming = {name for name, path in sources.items() if path.read_text().startswith(CLAIM)}
    every = "".join(f"from {room} import *\n" for room in ROOMS)  # a name loads its module
    every += "from flinkish.common import Row\n"  # of which both make use
    program = f"import sys\n{every}print(*sys.modules)"
    loaded = ran("-c", program, env=os.environ | environment).stdout.split()
    assert sources.keys() & set(loaded) == claiming
