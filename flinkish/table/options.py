"""The options of a table, each of which is to be understood."""

from __future__ import annotations

from collections.abc import Mapping

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.names import did_you_mean

__all__ = ["Options"]


class Options:
    """The options of a table, each of which is to be understood."""

    def __init__(self, table: str, given: Mapping[str, str]) -> None:
        self.table = table
        self._given = dict(given)
        self._left = dict(given)
        self._known: set[str] = set()

    def take(self, key: str, default: str | None = None) -> str | None:
        """The value of an option."""
        self._known.add(key)
        self._left.pop(key, None)
        return self._given.get(key, default)

    def need(self, key: str) -> str:
        """The value of an option; IllegalArgumentError if it was not given."""
        value = self.take(key)
        if value is None:
            raise IllegalArgumentError(
                f"the table {self.table} needs the option '{key}' in WITH (...); it has "
                f"{', '.join(self._given)}"
            )
        return value

    def flag(self, key: str) -> bool:
        """Whether an option is true; IllegalArgumentError for other than true and false."""
        value = self.take(key, "false")
        if str(value).lower() not in ("true", "false"):
            raise IllegalArgumentError(
                f"the option '{key}' of the table {self.table} is true or false, not {value!r}"
            )
        return str(value).lower() == "true"

    def beginning(self, prefix: str) -> dict[str, str]:
        """The options whose names begin so, without that."""
        found = {key: one for key, one in self._left.items() if key.startswith(prefix)}
        for key in found:
            del self._left[key]
        return {key.removeprefix(prefix): one for key, one in found.items()}

    def done(self) -> None:
        """UnsupportedOperationError for options that nothing asked for."""
        for key in self._left:
            raise UnsupportedOperationError(
                f"the table {self.table} has the option '{key}', for which Spark has nothing that "
                f"is the same; there are {', '.join(sorted(self._known))}"
                f"{did_you_mean(key, self._known)}"
            )
