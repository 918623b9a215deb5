from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, SupportsIndex, final, overload

class RowKind(Enum):
    """The kind of a row in a changelog: it is new, it is gone, or it replaces another."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

class FieldNameError(KeyError, ValueError):
    """``row[name]`` with a name that the row does not have.

    PyFlink raises a ``ValueError`` for it, mappings a ``KeyError``: this is both.
    """

@final
class Row:
    """The values of one record: by position, by name, or as attributes.

    ``Row(1, "a")`` has positions only; ``Row(id=1, name="a")`` has names too, in the order
    given.  A row of names makes rows: ``Person = Row("name", "age"); Person("Ann", 41)``.

    Fields come before methods: a field called ``as_dict`` hides the method.  Names like
    ``__class__`` always mean Python's attribute; use ``row["__class__"]`` for such a field.
    Values may be changed, names and their number may not.

    Equality is PyFlink's: same names (in any order), equal values, same kind; a row with
    names never equals one without.  Equal rows have equal hashes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattribute__(self, name: str, /) -> Any: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    @overload
    def __getitem__(self, item: str | SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, item: slice, /) -> list[Any]: ...
    def __setitem__(self, item: str | SupportsIndex | slice, value: Any, /) -> None: ...
    def __contains__(self, item: object, /) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __call__(self, *values: Any) -> Row: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def get_field_names(self) -> tuple[str, ...] | None:
        """The names in their order, as a tuple; None for a row without names."""

    def set_field_names(self, field_names: Iterable[str]) -> None:
        """Name the fields.  ValueError unless there is one name a value, all different."""

    def get_fields_by_names(self, names: Iterable[str]) -> list[Any]:
        """The values of ``names``, in that order, as a list.

        As in PyFlink, a row without names gives all its values.  FieldNameError names what is
        missing.
        """

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Names to values; ``recursive`` also turns rows inside values, lists and dicts.

        TypeError for a row without names.
        """

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row of the given kind."""

    def get_row_kind(self) -> RowKind:
        """The row's RowKind, INSERT unless it was set."""

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Change the kind.  TypeError unless it is a RowKind."""

def rows_of(
    names: Iterable[str] | None, values: Iterable[list[Any] | tuple[Any, ...]]
) -> list[Row]: ...
def restore_row(names: tuple[str, ...] | None, values: tuple[Any, ...], kind: int) -> Row: ...
