"""Is the installed distribution whole?  Run by ci/wheels.sh where no compiler is to be found."""

import importlib
import shutil
import sys
from importlib.metadata import files
from pathlib import PurePosixPath


def main() -> int:
    """Import every module but Spark's from the installed files, and judge what is there."""
    for compiler in ("cc", "gcc", "clang"):
        assert shutil.which(compiler) is None, f"{compiler} is in reach, so this proves nothing"
    own = [PurePosixPath(file) for file in files("flinkish") or []]
    own = [path for path in own if path.parts[0] == "flinkish" and path.suffix != ".pyc"]
    kinds = {path.suffix for path in own}
    assert not kinds & {".c", ".pyx", ".o"}, f"sources of the build were packed: {sorted(kinds)}"
    assert PurePosixPath("flinkish/py.typed") in own, "py.typed is missing"

    headers = {path.with_suffix("") for path in own if path.suffix == ".pxd"}
    stubs = {path.with_suffix("") for path in own if path.suffix == ".pyi"}
    libraries = {path for path in own if path.suffix in (".so", ".pyd")}
    compiled = {path.with_name(path.name.split(".")[0]) for path in libraries}
    assert compiled <= headers, f"compiled without a header: {sorted(compiled - headers)}"
    assert stubs <= compiled, f"typed but not compiled: {sorted(stubs - compiled)}"

    modules = [path.with_suffix("") for path in own if path.suffix == ".py"]
    names = {".".join(path.parts).removesuffix(".__init__") for path in modules}
    names |= {".".join(path.parts) for path in compiled}
    names = {name for name in names if not name.startswith(("flinkish.spark", "flinkish.cli"))}
    for name in sorted(names):
        importlib.import_module(name)
    print(f"imported {len(names)} modules, {len(compiled)} of them compiled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
