"""Compile the floor: one extension module for every ``.pyx`` below ``flinkish/_core``.

All metadata is in ``pyproject.toml``.  ``FLINKISH_DEBUG=1`` turns overflow checks and the like
back on; ``FLINKISH_SANITIZE=address,undefined`` builds for ``ci/sanitize.sh``.  Each variant
has a build directory of its own, so that switching never mixes objects; C is shared by those
that have the same, so that Cython translates a module once.

A module that needs no GIL says so in its first line; ``ci/freethreading.sh`` proves the claims.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("FLINKISH_DEBUG") == "1"
SANITIZE = os.environ.get("FLINKISH_SANITIZE", "")
SHARED = "build" + ("/debug" if DEBUG else "")
BUILD = SHARED + ("/sanitize" if SANITIZE else "")

DIRECTIVES = {
    "language_level": 3,
    "binding": False,
    # Lists, tuples and buffers belong to callers, so their indexes are checked.  A pointer has no
    # bounds: what walks flat memory by pointers costs no more for it.
    "boundscheck": True,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "overflowcheck": DEBUG,
    "auto_pickle": False,
    "embedsignature": True,
    "embedsignature.format": "python",
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
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [source.as_posix()],
            extra_compile_args=[*flags, "-fvisibility=hidden", *checks],
            extra_link_args=checks,
        )
        for source in sorted(Path("flinkish/_core").rglob("*.pyx"))
    ]


if __name__ == "__main__":
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": CompileFloor},
        options={"build": {"build_base": BUILD}, "build_ext": {"parallel": True}},
    )
