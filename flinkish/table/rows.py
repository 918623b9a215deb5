"""The part of a table that groups and windows need, so that neither imports the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from flinkish.common.typeinfo import RowTypeInfo

__all__ = ["R", "Rows"]

R = TypeVar("R", bound="Rows")


class Rows(Protocol):
    """Rows that SQL can select from; see `flinkish.table.table.Table`."""

    _planner: Any
    _node: Any
    _times: Mapping[str, int]

    @property
    def _kind(self) -> RowTypeInfo:
        """The type of the rows."""

    @property
    def _streams(self) -> bool:
        """Whether the rows are those of streaming mode."""

    def _of(self: R, columns: str, after: str = "") -> R:
        """The table of the query ``SELECT columns FROM these rows``, with the clauses after it."""

    def select(self: R, *fields: Any) -> R:
        """Values of each row."""
