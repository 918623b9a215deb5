"""The error of a record that a format cannot read."""

from __future__ import annotations

__all__ = ["RecordError"]


class RecordError(ValueError):
    """A record, or a field of it, that a format cannot read.

    ``path`` leads to the field, from the outside in: names of fields, ``[index]`` of elements.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def within(self, part: str) -> RecordError:
        """The same error, one level further out."""
        self.path.insert(0, part)
        return self

    def __str__(self) -> str:
        if not self.path:
            return self.reason
        return f"field {'.'.join(self.path).replace('.[', '[')}: {self.reason}"
