"""The page of settings has the names and the values of the code."""

import re
from dataclasses import fields
from typing import Any

from flinkish.spark import REAL_TIME_AT_START, REAL_TIME_SETTINGS, SETTINGS, StateSettings
from flinkish.spark.real_time_settings import SETTINGS_ON_CONNECT
from flinkish.spark.streams.options import OperatorOptions
from tests.checkout import ROOT

PAGE = (ROOT / "docs/reference/settings.md").read_text()


def table(first: str) -> dict[str, str]:
    """The rows below the line that has this text: names, and their second cells."""
    rows = re.findall(r"^\| (.*?) \| (.*?) \|", PAGE[PAGE.index(first) :].split("|\n\n")[0], re.M)
    return {name.strip("`"): cell for name, cell in rows[2:]}


def shown(value: Any) -> str:
    """A default as the page writes it; of None it says what happens then."""
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def test_what_configure_sets() -> None:
    found = table("holds them.")
    assert found == {name: f"`{value}`" for name, value in SETTINGS.items()}


def test_what_real_time_mode_sets() -> None:
    wanted = {name: f"`{value}`" for name, value in REAL_TIME_SETTINGS.items()}
    for name, value in SETTINGS_ON_CONNECT.items():
        plain = f"{wanted[name]}, " if name in wanted else ""
        wanted[name] = f"{plain}on Spark Connect `{value}`"
    assert table("`flinkish.spark.REAL_TIME_SETTINGS`") == wanted


def test_what_real_time_mode_needs() -> None:
    found = table("`flinkish.spark.REAL_TIME_AT_START`")
    assert found == {name: f"`{value}`" for name, value in REAL_TIME_AT_START.items()}


def test_options_and_fields() -> None:
    for title, kind in (
        ("## Options of keyed", OperatorOptions),
        ("## `StateSettings`", StateSettings),
    ):
        found = table(title)
        assert found.keys() == {one.name for one in fields(kind)}
        for one in fields(kind):
            if one.default is not None and isinstance(one.default, (str, int, float)):
                assert found[one.name] == shown(one.default), one.name
