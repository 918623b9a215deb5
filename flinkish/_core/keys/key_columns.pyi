"""A column of keys, as read from Arrow or NumPy."""

from typing import final

@final
class KeyColumn:
    """One column of keys, for the floor."""

    def __new__(
        cls, column: object, key_type: str | None = None, name: str | int = 0
    ) -> KeyColumn: ...
