"""Python values as Arrow arrays, for the floor."""

from datetime import tzinfo
from typing import final

import pyarrow

class Refusal(Exception):
    index: int
    column: str | None
    found: str
    needed: str
    def __init__(self, index: int, column: str | None, found: str, needed: str) -> None: ...

@final
class Target:
    """What the values of a column have to become."""

    @property
    def column(self) -> str: ...
    @property
    def type(self) -> pyarrow.DataType: ...
    @property
    def nullable(self) -> bool: ...
    @property
    def zone(self) -> tzinfo | None: ...
    def __init__(
        self, column: str, type: pyarrow.DataType, nullable: bool, zone: tzinfo | None
    ) -> None: ...
