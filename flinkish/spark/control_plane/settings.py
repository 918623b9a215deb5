"""The driver's settings, as workers know them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Settings"]


class Settings(Mapping[str, Any]):
    """The driver's settings as last heard of; reading one asks nobody."""

    def __init__(self) -> None:
        self.version = 0
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str, default: Any = None) -> Any:
        """The setting, or ``default`` if the driver never set it."""
        return self._values.get(name, default)

    def hear(self, version: int, values: dict[str, Any]) -> None:
        """Newer settings take the place of all."""
        if version > self.version:
            self._values, self.version = values, version
