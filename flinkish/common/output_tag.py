"""Names of side outputs."""

from __future__ import annotations

from typing import Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import TypeInformation, as_type_information

__all__ = ["OutputTag"]


class OutputTag:
    """The name and type of a side output: ``yield tag, value`` sends ``value`` there.

    ``type_info`` is a TypeInformation, Spark DDL (``"device string, ts timestamp"``), a list of
    types for a row without names, or None for objects that are pickled.  Tags with the same id
    are equal, whatever their types, so a tag made anew in another process finds its output.

    ArgumentTypeError for an id that is not a str, IllegalArgumentError for an empty one.
    """

    __slots__ = ("tag_id", "type_info")

    tag_id: str
    type_info: TypeInformation

    def __init__(
        self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | str | None = None
    ) -> None:
        if tag_id is None or tag_id == "":
            raise IllegalArgumentError(
                f"the id of an OutputTag must not be {tag_id!r}: side outputs are told by it"
            )
        if not isinstance(tag_id, str):
            raise ArgumentTypeError(f"the id of an OutputTag must be a str, not {tag_id!r}")
        self.tag_id = tag_id
        self.type_info = as_type_information(type_info, f"type_info of OutputTag {tag_id!r}")

    def __eq__(self, other: Any) -> bool:
        return self.tag_id == other.tag_id if isinstance(other, OutputTag) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r}, {self.type_info})"
