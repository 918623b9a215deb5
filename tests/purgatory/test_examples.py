"""The examples, small: they check themselves."""

import importlib
import sys

import pytest

from tests.checkout import ROOT


@pytest.fixture(autouse=True)
def _examples_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)


@pytest.mark.parametrize("seed", [1, 2])
def test_orders(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    orders = importlib.import_module("examples.orders.__main__")
    assert orders.main(["--orders", "3000", "--seed", str(seed)]) == 0
    printed = capsys.readouterr().out
    assert "3,000 were pending at once" in printed
    assert "Right" in printed


def test_orders_notices_a_wrong_shop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    orders = importlib.import_module("examples.orders.__main__")
    saga = sys.modules["examples.orders.saga"]
    monkeypatch.setattr(saga.Order, "on_expiration", lambda self: None)
    assert orders.main(["--orders", "1000"]) == 1
    assert "WRONG" in capsys.readouterr().out


def test_long_poll(capsys: pytest.CaptureFixture[str]) -> None:
    long_poll = importlib.import_module("examples.long_poll.__main__")
    assert long_poll.main(["--records", "400", "--consumers", "3"]) == 0
    assert "Right" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "flag"), [("orders", "--orders"), ("long_poll", "--records")])
def test_bad_arguments(name: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"examples.{name}.__main__")
    with pytest.raises(SystemExit):
        module.main([flag, "0"])
    assert "at least 1" in capsys.readouterr().err
