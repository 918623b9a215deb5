"""The example of a WheelTimer in docs/guides/purgatory.md, run as it stands."""

import pytest

from tests.checkout import examples, says_what_it_says

PAGE = "docs/guides/purgatory.md"


def test_the_example_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (code for code in examples(PAGE) if "WheelTimer" in code)
    says_what_it_says(PAGE, code, capsys)
