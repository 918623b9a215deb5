"""The example of docs/reference/rpc-transport.md runs, and its tables name what there is."""

import inspect

import pytest

from flinkish._core.rpc.framing import FrameKind
from flinkish.rpc.transport import Transport
from tests.checkout import ROOT, examples, says_what_it_says

PAGE = "docs/reference/rpc-transport.md"


def test_the_example_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = examples(PAGE)
    says_what_it_says(PAGE, first, capsys)


def test_all_options_and_kinds_are_described() -> None:
    text = (ROOT / PAGE).read_text()
    for name in inspect.signature(Transport).parameters:
        assert name in ("name", "handler") or f"`{name}`" in text, name
    for kind in FrameKind:
        assert kind.name in text
        assert kind < FrameKind.HELLO or f"{int(kind)} {kind.name}" in text
