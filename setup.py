"""Compile the floor: an extension module for every ``.pyx`` that no other one includes.

All metadata is in ``pyproject.toml``.  ``FLINKISH_DEBUG=1`` turns overflow checks and the like
back on; ``FLINKISH_SANITIZE=address,undefined`` builds for ``ci/sanitize.sh``.  Each variant
has a build directory of its own; C is shared by those that have the same.  A module that needs no
GIL says so in its first line; ``ci/freethreading.sh`` proves the claims.
"""

import os
import re
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("FLINKISH_DEBUG") == "1"
SANITIZE = os.environ.get("FLINKISH_SANITIZE", "")
SHARED = "build" + ("/debug" if DEBUG else "")
BUILD = SHARED + ("/sanitize" if SANITIZE else "")
INCLUDED = re.compile(r'^include "(\w+\.pyx)"', re.MULTILINE)

DIRECTIVES = {
    "language_level": 3,
    "binding": False,
    # Lists, tuples and buffers belong to callers, so indexes are checked; a pointer has no bounds.
    "boundscheck": True,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "overflowcheck": DEBUG,
    "auto_pickle": False,
    "embedsignature": True,
    "embedsignature.format": "clinic",  # the form that `inspect.signature` reads
    "warn.undeclared": False,
}


class CompileFloor(build_ext):
    """Translate when compiling only: metadata and sdist need no C."""

    def build_extensions(self) -> None:
        """Run Cython over what changed, then the C compiler on every core."""
        modules = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            build_dir=f"{SHARED}/cython",
            force=self.force,
            nthreads=0,
        )
        translated = {module.name: module for module in modules}
        for extension in self.extensions:
            extension.sources = translated[extension.name].sources
            extension.depends = translated[extension.name].depends
        super().build_extensions()


def extensions() -> list[Extension]:
    """The modules of the floor, with the flags of this build."""
    checks = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=undefined"] if SANITIZE else []
    flags = ["-O1", "-g1", "-fno-omit-frame-pointer"] if SANITIZE else ["-O3", "-g0"]
    sources = set(Path("flinkish/_core").rglob("*.pyx"))
    parts = {at.parent / part for at in sources for part in INCLUDED.findall(at.read_text())}
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [source.as_posix()],
            extra_compile_args=[*flags, "-fvisibility=hidden", *checks],
            extra_link_args=checks,
        )
        for source in sorted(sources - parts)
    ]


if __name__ == "__main__":
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": CompileFloor},
        options={"build": {"build_base": BUILD}, "build_ext": {"parallel": True}},
    )
