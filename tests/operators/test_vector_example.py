"""The example of docs/guides/windows-vectorised.md that needs no Spark."""

import re

import pytest

from tests.checkout import ROOT, examples, run_example

PAGE = "docs/guides/windows-vectorised.md"


def test_the_example_in_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```$", (ROOT / PAGE).read_text(), re.S | re.M)
    run_example(PAGE, examples(PAGE)[1])
    assert capsys.readouterr().out == shown
