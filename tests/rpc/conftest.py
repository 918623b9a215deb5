"""What every test of services gets."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.log_thread import LOG_THREAD
from tests.rpc.patience import patient
from tests.waiting import PATIENCE


@pytest.fixture(autouse=True)
def _patient() -> Iterator[None]:
    """Nothing gives up by itself, unless the test says when."""
    with patient():
        yield


@pytest.fixture
def new_io_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test starts and ends an I/O thread, though others of the process use one already."""
    monkeypatch.setattr(IoThread, "_current", None)


class _Told:
    """pytest's ``caplog`` with all that the log thread still had."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def __getattr__(self, name: str) -> Any:
        assert LOG_THREAD.flush(PATIENCE)
        return getattr(self._caplog, name)


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Any:
    """Records of RPC's own threads come by the log thread."""
    return _Told(caplog)
