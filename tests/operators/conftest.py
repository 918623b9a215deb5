"""What the tests of asynchronous functions share."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flinkish.operators import AsyncWaitOperator
from flinkish.testing import OneInputStreamOperatorTestHarness
from tests.operators.async_rig import Harness


@pytest.fixture
def run() -> Iterator[Callable[..., Harness]]:
    """Opens a harness around a function; closed at the end."""
    harnesses: list[Harness] = []

    def make(fn: Any, values: Any = (), **settings: Any) -> Harness:
        harness = OneInputStreamOperatorTestHarness(
            AsyncWaitOperator(fn, **{"timeout": None, **settings})
        )
        harnesses.append(harness)
        harness.open()
        harness.process_elements(values)
        if values:
            harness.end_input()
        return harness

    yield make
    for harness in harnesses:
        harness.close()
