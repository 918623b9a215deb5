"""The examples of docs/guides/purgatory.md, run as they stand."""

import pytest

from tests.checkout import examples, says_what_it_says

PAGE = "docs/guides/purgatory.md"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_example_of_the_guide(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    says_what_it_says(PAGE, examples(PAGE)[number], capsys)
