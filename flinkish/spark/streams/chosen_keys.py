"""The argument of `key_by`: columns, maybe widened, or a function of the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from flinkish.common.errors import ArgumentTypeError
from flinkish.spark.keyed.key_widening import widened_columns
from flinkish.spark.pickling import check_picklable
from flinkish.spark.schemas import column_name, key_columns, sql_type_name

__all__ = ["chosen_keys", "no_key"]


def no_key(row: Any) -> bool:
    """The one key of a stream that has none."""
    return True


def chosen_keys(
    rows: DataFrame, keys: tuple[Any, ...], widened_from: str | Mapping[str, str] | None
) -> tuple[tuple[str, ...], Callable[[Any], Any] | None, tuple[str, ...]]:
    """The key columns, or the function that gives keys; and which of the columns are widened."""
    selector = None
    if len(keys) == 1 and isinstance(keys[0], (list, tuple)):
        keys = tuple(keys[0])
    if len(keys) == 1 and not isinstance(keys[0], str):
        selector = getattr(keys[0], "get_key", keys[0])
        if not callable(selector):
            raise ArgumentTypeError(
                f"key_by takes column names or one function of the row, not {keys[0]!r}"
            )
        check_picklable(selector, "the key selector")
        keys = ()
    else:
        keys = key_columns(rows, keys)
    types = [sql_type_name(rows, key) for key in keys]
    if isinstance(widened_from, Mapping):
        widened_from = {column_name(rows, name): was for name, was in widened_from.items()}
    return keys, selector, widened_columns(keys, types, widened_from)
