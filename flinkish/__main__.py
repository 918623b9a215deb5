"""``python -m flinkish``, and the command ``flinkish``: what is installed, for a bug report."""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from flinkish import __version__

__all__ = ["main"]

_PACKAGES = ("pyspark", "pyarrow", "pandas", "protobuf", "numpy", "msgspec", "cryptography")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the versions of flinkish and of what it runs on; return the exit status."""
    parser = argparse.ArgumentParser("flinkish", description="Flink's operator runtime for PySpark")
    parser.add_argument("--version", action="version", version=f"flinkish {__version__}")
    parser.parse_args(arguments)
    for name, found in installed().items():
        print(f"{name:<13}{found}")
    return 0


def installed() -> dict[str, str]:
    """The versions of flinkish, Python, the system, Java and packages, by name."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    versions = {"flinkish": __version__, "python": python, "system": platform.platform()}
    return versions | {"java": _java()} | {name: _version_of(name) for name in _PACKAGES}


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _java() -> str:
    """The first line that ``java -version`` prints, for the Java on the path."""
    path = shutil.which("java")
    if path is None:
        return "not on the path"
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    return (said.stderr or said.stdout).partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
