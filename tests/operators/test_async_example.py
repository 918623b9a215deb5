"""The example of the document runs and says what it says."""

import pytest

from tests.checkout import examples, says_what_it_says


def test_the_example_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = examples("docs/guides/async.md")
    says_what_it_says("docs/guides/async.md", first, capsys)
