"""Compile the floor: one extension module for every ``flinkish/_core/*.pyx``.

All metadata is in ``pyproject.toml``.  ``FLINKISH_DEBUG=1`` turns bounds and overflow checks
back on; ``FLINKISH_SANITIZE=address,undefined`` builds for ``ci/sanitize.sh``.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("FLINKISH_DEBUG") == "1"
SANITIZE = os.environ.get("FLINKISH_SANITIZE", "")

DIRECTIVES = {
    "language_level": 3,
    "binding": False,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "overflowcheck": DEBUG,
    "auto_pickle": False,
    "embedsignature": True,
    "embedsignature.format": "python",
    "freethreading_compatible": True,
    "warn.undeclared": False,
}


def flags() -> tuple[list[str], list[str]]:
    """Compiler and linker flags of this build."""
    if SANITIZE:
        checks = f"-fsanitize={SANITIZE}"
        return ["-O1", "-g", "-fno-omit-frame-pointer", checks], [checks]
    if os.name == "nt":
        return ["/O2"], []
    return ["-O3", "-g0", "-fvisibility=hidden", "-Wno-unreachable-code"], []


def extensions() -> list[Extension]:
    compile_args, link_args = flags()
    return [
        Extension(
            f"flinkish._core.{source.stem}",
            [source.as_posix()],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
        )
        for source in sorted(Path("flinkish/_core").glob("*.pyx"))
    ]


setup(
    ext_modules=cythonize(
        extensions(),
        compiler_directives=DIRECTIVES,
        build_dir="build/cython",
        nthreads=0,
    )
)
