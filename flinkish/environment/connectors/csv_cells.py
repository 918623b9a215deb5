"""Cells of CSV as values: SQL over texts that Spark's CSV parser has found."""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.typeinfo import TypeInformation, Types

__all__ = ["CellReader", "is_list", "quotable", "written_list"]

_STRING = Types.STRING()


def quotable(value: str) -> str:
    """A text for a literal of SQL."""
    return value.replace("\\", "\\\\").replace("'", "\\'")


def is_list(kind: TypeInformation) -> bool:
    """Whether a value is a list in one cell."""
    return isinstance(kind, _ElementsTypeInfo) and kind.to_ddl() != "binary"


def written_list(column: str, between: str) -> str:
    """The cell of a column of lists; an element None is nothing."""
    items = f"transform({column}, x -> coalesce(cast(x AS string), ''))"
    return f"array_join({items}, '{quotable(between)}')"


@dataclass(frozen=True)
class CellReader:
    """How cells become values, with the null literal.

    An empty cell is None for numbers and truth values, and an empty string for texts.  A cell that
    is not a value of its type fails the job, and the error shows the cell.  So does a text with
    bytes that are not UTF-8, which Spark's parser would replace by U+FFFD.
    """

    null: str | None
    where: str

    def value(self, cell: str, name: str, kind: TypeInformation, between: str = "") -> str:
        """The SQL of the value of a cell, which is null if there is nothing in it."""
        if is_list(kind):
            assert isinstance(kind, _ElementsTypeInfo)
            apart = f"split(cell, '{quotable(f'{chr(92)}Q{between}{chr(92)}E')}')"
            parts = apart if between else "array(cell)"
            item = self._nullable("x", kind.elem_type, name)
            value = f"if(cell = '', array(), transform({parts}, x -> {item}))"
            value = f"cast({value} AS {kind.to_ddl()})"
            cell = f"coalesce({cell}, '')"
        elif kind == _STRING:
            value, cell = self._nullable("cell", kind, name), f"coalesce({cell}, '')"
        else:
            value = self._nullable("cell", kind, name)
        return f"element_at(transform(array({cell}), cell -> {value}), 1)"

    def _nullable(self, text: str, kind: TypeInformation, name: str) -> str:
        """The value of a text that may stand for None."""
        none = [f"{text} IS NULL"]
        if self.null is not None:
            none.append(f"{text} = '{quotable(self.null)}'")
        if kind != _STRING:
            none.append(f"trim({text}) = ''")
        return f"if({' OR '.join(none)}, NULL, {self._value(text, kind, name)})"

    def _value(self, text: str, kind: TypeInformation, name: str) -> str:
        if kind == _STRING:
            said = f'" of the column {name} of {self.where} has bytes that are not UTF-8'
            error = f"raise_error(concat('the cell \"', {text}, '{quotable(said)}'))"
            return f"if(contains({text}, '\ufffd'), cast({error} AS string), {text})"
        said = f'" is in the column {name} of {self.where}, whose type is {kind}'
        error = f"raise_error(concat('the cell \"', {text}, '{quotable(said)}'))"
        if kind == Types.BOOLEAN():
            return (
                f"CASE lower(trim({text})) WHEN 'true' THEN true WHEN 'false' THEN false "
                f"ELSE cast({error} AS boolean) END"
            )
        ddl = kind.to_ddl()
        return f"coalesce(try_cast({text} AS {ddl}), cast({error} AS {ddl}))"
