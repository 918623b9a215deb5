"""What every test of services gets."""

from collections.abc import Iterator

import pytest

from tests.rpc.patience import patient


@pytest.fixture(autouse=True)
def _patient() -> Iterator[None]:
    """Nothing gives up by itself, unless the test says when."""
    with patient():
        yield
