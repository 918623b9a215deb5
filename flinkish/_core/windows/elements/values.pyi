"""Elements of windows as bytes."""

from collections.abc import Iterable

from typing_extensions import disjoint_base

@disjoint_base
class WindowValues:
    """Writes and reads values."""

    @property
    def names(self) -> tuple[str, ...] | None: ...
    def __init__(self, names: Iterable[str] | None = None) -> None: ...
