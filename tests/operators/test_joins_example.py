"""The examples of docs/guides/joins.md."""

import pytest

from tests.checkout import examples, run_example

PAGE = "docs/guides/joins.md"


def test_the_example_in_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    run_example(PAGE, examples(PAGE)[1])
    assert capsys.readouterr().out.splitlines() == [
        "[]",
        "[StreamRecord(value=('ann', 30), timestamp=3601000), Watermark(timestamp=3700000)]",
    ]


def test_the_example_of_broadcast_state(capsys: pytest.CaptureFixture[str]) -> None:
    run_example(PAGE, examples(PAGE)[2])
    assert capsys.readouterr().out.splitlines() == ["[('ann', 60, 50)]"]


def test_the_example_of_broadcast_state_without_keys(capsys: pytest.CaptureFixture[str]) -> None:
    run_example(PAGE, examples(PAGE)[3])
    assert capsys.readouterr().out.splitlines() == ["[('ann', 'books', 60)]"]
