"""Programs of users under `mypy --strict`, with the annotations that are installed."""

import os
import subprocess
import sys
from pathlib import Path

import flinkish
from tests.checkout import ROOT, examples
from tests.rpc import typed_program


def test_the_program_runs() -> None:
    assert typed_program.main() == [3, 3, 5, 1, 7]


def test_strict_mypy_takes_programs_and_finds_their_faults(tmp_path: Path) -> None:
    """The program of this directory, that of states, and the first example of the guide."""
    program = tmp_path / "program.py"
    program.write_text((ROOT / "tests/rpc/typed_program.py").read_text())
    states = tmp_path / "states.py"
    states.write_text((ROOT / "tests/state/typed_program.py").read_text())
    example = tmp_path / "example.py"
    example.write_text(examples("docs/guides/rpc.md")[0])
    # mypy looks into the installed packages itself, and refuses to be told of them.
    package = Path(flinkish.__file__).parents[1]
    place = {} if package.name == "site-packages" else {"MYPYPATH": str(package)}
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\n[mypy-pyarrow.*]\nignore_missing_imports = True\n")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    done = subprocess.run(
        [
            *mypy,
            "--config-file",
            str(config),
            "--cache-dir",
            str(tmp_path),
            program,
            states,
            example,
        ],
        env=os.environ | place,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
