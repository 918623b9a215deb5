"""Records that functions return, as a batch of Arrow columns."""

from collections.abc import Iterable
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
    """The form that the values of a column have to take."""

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

class RecordMismatch(ValueError):
    row_index: int
    row: str
    column: str | None
    found: str
    needed: str
    def __init__(
        self, row_index: int, row: str, column: str | None, found: str, needed: str
    ) -> None: ...

def columns_from_rows(
    rows: Iterable[object], schema: pyarrow.Schema, *, time_zone: str | tzinfo | None = None
) -> pyarrow.RecordBatch: ...
