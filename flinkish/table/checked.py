"""Arguments of tables, checked at the call."""

from __future__ import annotations

from typing import Any

from flinkish.common.errors import ArgumentTypeError
from flinkish.table.expression import Expression

__all__ = ["checked"]


def checked(fields: tuple[Any, ...], method: str) -> tuple[Expression[Any], ...]:
    """The fields; ArgumentTypeError if there are none, or if some are not expressions."""
    wrong = [one for one in fields if not isinstance(one, Expression)]
    if wrong or not fields:
        raise ArgumentTypeError(
            f"{method} takes expressions, such as col('id') + 1, not {wrong[0]!r}"
            if wrong
            else f"{method} takes an expression, such as col('id')"
        )
    return fields
