"""What every test of services gets."""

from collections.abc import Iterator

import pytest

from flinkish.rpc.io_thread import IoThread
from tests.rpc.patience import patient


@pytest.fixture(autouse=True)
def _patient() -> Iterator[None]:
    """Nothing gives up by itself, unless the test says when."""
    with patient():
        yield


@pytest.fixture
def new_io_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test starts and ends an I/O thread, though others of the process use one already."""
    monkeypatch.setattr(IoThread, "_current", None)
