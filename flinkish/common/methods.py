"""Objects that are known by their methods, whatever class they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.common.errors import ArgumentTypeError

__all__ = ["require_methods"]


def require_methods(given: Any, methods: Sequence[str], wanted: str) -> None:
    """ArgumentTypeError unless ``given`` has the methods and is no class.

    ``wanted`` begins the message, for instance ``"trigger takes a Trigger"``.
    """
    missing = [name for name in methods if not callable(getattr(given, name, None))]
    if isinstance(given, type) or missing:
        raise ArgumentTypeError(
            f"{wanted}, not {given!r}"
            + (f", which has no {', '.join(missing)}" if missing else "; make an instance")
        )
