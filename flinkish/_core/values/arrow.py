"""pyarrow, imported when it is first used, so that code that does not need it runs without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["pyarrow"]


class _Arrow:
    """The package: gets each attribute when it is first used."""

    def __getattr__(self, name: str) -> Any:
        try:
            import pyarrow.ipc
            import pyarrow.types
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "columns, snapshots and payloads need the package pyarrow, which cannot be "
                "imported: pip install 'flinkish[arrow]'",
                name=error.name,
            ) from error
        value = self.__dict__[name] = getattr(pyarrow, name)
        return value


if TYPE_CHECKING:
    import pyarrow
else:
    pyarrow = _Arrow()
