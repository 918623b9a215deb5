"""``python -m flinkish`` says what is installed."""

import subprocess
import sys

import pytest

from flinkish import __version__
from flinkish.__main__ import installed, main


def test_the_command_prints_a_line_for_each_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(installed())
    assert lines[0].split() == ["flinkish", __version__]


def test_a_package_that_is_missing_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flinkish.__main__._PACKAGES", ("no-such-package",))
    monkeypatch.setenv("PATH", "")
    assert installed()["no-such-package"] == "not installed"
    assert installed()["java"] == "not on the path"


def test_the_version_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"flinkish {__version__}\n"


def test_the_module_runs(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flinkish", "--version"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"flinkish {__version__}\n"
