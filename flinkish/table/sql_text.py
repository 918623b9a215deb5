"""Splitting of SQL texts at brackets and commas outside of quotes."""

from __future__ import annotations

from collections.abc import Iterator

from flinkish.common.errors import IllegalArgumentError

__all__ = ["bracketed", "pieces"]


def bracketed(text: str) -> tuple[str, str]:
    """The text in the brackets that a text begins with, and that after them."""
    depth = 0
    for place, sign in _signs(text):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0:
            return text[1:place], text[place + 1 :]
    raise IllegalArgumentError(f"a bracket is not closed in {text[:60]!r}")


def pieces(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, begin, depth = [], 0, 0
    for place, sign in _signs(text):
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [part for part in (*parts, text[begin:].strip()) if part]


def _signs(text: str) -> Iterator[tuple[int, str]]:
    """The characters that are in no quotes, with their places."""
    quote = ""
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'`":
            quote = sign
        else:
            # The > of a => is not a bracket.
            yield place, "=" if sign == ">" and text[place - 1 : place] == "=" else sign
