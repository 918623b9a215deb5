"""Translate the floor and fail on anything that Cython remarks about it.

A performance hint is a real cost here: a C function without a stated exception behaviour
takes the GIL after every call, about 35 times the price of the call itself.
"""

import contextlib
import io
import os
import runpy
import sys
import tempfile
from pathlib import Path

from Cython.Build import cythonize


def main() -> int:
    """Print what Cython said about our files; 1 if it said anything."""
    os.chdir(Path(__file__).resolve().parents[1])
    settings = runpy.run_path("setup.py", run_name="settings")
    heard = io.StringIO()
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(heard):
        cythonize(
            settings["extensions"](),
            compiler_directives=settings["DIRECTIVES"],
            build_dir=place,
            force=True,
            quiet=True,
        )
    remarks = [
        line
        for line in heard.getvalue().splitlines()
        if line.startswith(("performance hint: flinkish", "warning: flinkish"))
    ]
    print("\n".join(remarks) or "Cython has nothing to remark")
    return 1 if remarks else 0


if __name__ == "__main__":
    sys.exit(main())
