"""The example of docs/guides/windows.md that needs no Spark."""

import pytest

from tests.checkout import examples, run_example

PAGE = "docs/guides/windows.md"


def test_the_example_in_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    run_example(PAGE, examples(PAGE)[1])
    assert capsys.readouterr().out.splitlines() == [
        "[StreamRecord(value=('a', 7), timestamp=9999), Watermark(timestamp=9999)]",
        "TriggerResult.CONTINUE TriggerResult.FIRE",
    ]
