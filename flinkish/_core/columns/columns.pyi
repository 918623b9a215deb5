"""Records that functions return, as a batch of Arrow columns."""

from collections.abc import Iterable
from datetime import tzinfo

import pyarrow

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
