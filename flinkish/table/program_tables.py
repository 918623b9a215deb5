"""The names of a program's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.names import did_you_mean
from flinkish.table.connectors import Connector

if TYPE_CHECKING:
    from flinkish.table.table import Table

__all__ = ["ProgramTables"]

Entry: TypeAlias = "Table | Connector"


class ProgramTables:
    """Views and tables of connectors by name; capitals do not tell names apart, as in Spark."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[str, Entry]] = {}

    def add(self, name: str, entry: Entry) -> None:
        """Take a name for a table; IllegalArgumentError if it is taken, or of several parts."""
        if "." in name:
            raise IllegalArgumentError(
                f"the name {name!r} has several parts: tables of a program have one, such as "
                f"{name.rpartition('.')[2]!r}"
            )
        if name.lower() in self._entries:
            raise IllegalArgumentError(
                f"there is a table or view {name!r} already: drop it first, with "
                f"drop_temporary_view({name!r}) or drop_temporary_table({name!r})"
            )
        self._entries[name.lower()] = (name, entry)

    def find(self, name: str) -> Entry | None:
        """The table of a name, if there is one."""
        return self._entries.get(name.lower(), (name, None))[1]

    def get(self, name: str) -> Entry:
        """The table of a name; IllegalArgumentError if there is none."""
        found = self.find(name)
        if found is None:
            known = ", ".join(self.names()) or "none"
            raise IllegalArgumentError(
                f"this program has no table or view {name!r}: it has {known}"
                f"{did_you_mean(name, self.names())}"
            )
        return found

    def drop(self, name: str, *, view: bool) -> bool:
        """Forget a view, or a table of a connector; False if there is none."""
        found = self.find(name)
        if found is None or isinstance(found, Connector) == view:
            return False
        del self._entries[name.lower()]
        return True

    def names(self, *, views_only: bool = False) -> list[str]:
        """The names, sorted."""
        entries = self._entries.values()
        return sorted(
            name for name, one in entries if not (views_only and isinstance(one, Connector))
        )
