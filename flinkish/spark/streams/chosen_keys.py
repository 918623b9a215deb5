"""The arguments of `key_by`: columns, maybe widened, or a function of the row and its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.keyed.key_widening import (
    KEY_FUNCTION,
    WIDENED_INT,
    described_keys,
    shown_types,
    widened_columns,
)
from flinkish.spark.pickling import check_picklable
from flinkish.spark.schemas import column_name, key_columns, key_type_name, sql_type_name
from flinkish.time.key_groups import FloorKeyType, floor_key_type

__all__ = ["ChosenKeys", "chosen_keys", "no_key"]


def no_key(row: Any) -> bool:
    """The one key of a stream that has none."""
    return True


@dataclass(frozen=True)
class ChosenKeys:
    """The keys of a stream: columns, or a function.

    ``types`` say how they hash, one for each column, or that of the function's result if it was
    given; ``described`` is what a checkpoint remembers of them.
    """

    columns: tuple[str, ...]
    selector: Callable[[Any], Any] | None
    types: tuple[FloorKeyType, ...]
    described: Any

    @property
    def kind(self) -> str:
        """The keys in words; those of one kind meet."""
        return self.described if self.selector is not None else shown_types(self.described)


def chosen_keys(
    rows: DataFrame,
    keys: tuple[Any, ...],
    widened_from: str | Mapping[str, str] | None = None,
    key_type: TypeInformation | None = None,
) -> ChosenKeys:
    """The keys that the arguments of `key_by` name."""
    if len(keys) == 2 and isinstance(keys[1], TypeInformation):  # as in PyFlink
        if key_type is not None:
            raise IllegalArgumentError("key_by was given two key types")
        first, key_type = keys
        keys = (first,)
    if len(keys) == 1 and isinstance(keys[0], (list, tuple)):
        keys = tuple(keys[0])
    if len(keys) != 1 or isinstance(keys[0], str):
        if key_type is not None:
            raise IllegalArgumentError(
                f"key_type={key_type} is for a function of the row: columns have their types"
            )
        return _columns(rows, key_columns(rows, keys), widened_from)
    selector = getattr(keys[0], "get_key", keys[0])
    if not callable(selector):
        raise ArgumentTypeError(
            f"key_by takes column names or one function of the row, not {keys[0]!r}"
        )
    widened_columns((), (), widened_from)
    check_picklable(selector, "the key selector")
    if key_type is None:
        return ChosenKeys((), selector, (), KEY_FUNCTION)
    if not isinstance(key_type, TypeInformation):
        raise ArgumentTypeError(f"key_type is one of Types, such as Types.INT(), not {key_type!r}")
    kind = floor_key_type(key_type)
    return ChosenKeys((), selector, (kind,), KEY_FUNCTION + (f" to {kind}" if kind else ""))


def _columns(
    rows: DataFrame, keys: tuple[str, ...], widened_from: str | Mapping[str, str] | None
) -> ChosenKeys:
    types = [sql_type_name(rows, key) for key in keys]
    if isinstance(widened_from, Mapping):
        widened_from = {column_name(rows, name): was for name, was in widened_from.items()}
    widened = widened_columns(keys, types, widened_from)
    hashed = [WIDENED_INT if key in widened else key_type_name(rows, key) for key in keys]
    return ChosenKeys(keys, None, tuple(hashed), described_keys(keys, types, widened))
