"""Which modules of the floor claim to need no GIL; ``ci/freethreading.sh`` runs them without it."""

import os

from tests.checkout import ROOT
from tests.processes import ran

CLAIM = "# cython: freethreading_compatible=True\n"
ROOMS = ("flinkish.mailbox", "flinkish.purgatory")


def test_all_that_the_claiming_rooms_load_claims_it_and_nothing_else(
    environment: dict[str, str],
) -> None:
    sources = (ROOT / "flinkish" / "_core").glob("*.pyx")
    claiming = {path.stem for path in sources if path.read_text().startswith(CLAIM)}
    every = "".join(f"from {room} import *\n" for room in ROOMS)  # a name loads its module
    every += "from flinkish.common import Row\n"  # of which both make use
    program = f"import sys\n{every}print(*sys.modules)"
    loaded = ran("-c", program, env=os.environ | environment).stdout.split()
    floor = {name.rpartition(".")[2] for name in loaded if name.startswith("flinkish._core.")}
    assert floor == claiming
