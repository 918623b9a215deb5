"""Names of columns and the like: quoted, and mistyped."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["did_you_mean", "in_backticks", "quote_name"]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)


def quote_name(name: str) -> str:
    """A column name as DDL wants it: in backticks unless it is a plain identifier."""
    return name if _PLAIN_NAME.match(name) else in_backticks(name)


def in_backticks(name: str) -> str:
    """A name for an expression of Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, as the end of a message; "" if none is near."""
    import difflib  # in errors alone

    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
