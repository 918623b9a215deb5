"""The examples of docs/guides/rpc.md, run as they stand."""

import pytest

from tests.checkout import examples, says_what_it_says


def test_the_examples_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = examples("docs/guides/rpc.md")
    assert len(blocks) == 3
    for code in blocks:
        says_what_it_says("docs/guides/rpc.md", code, capsys)
