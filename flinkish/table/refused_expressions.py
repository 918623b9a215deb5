"""Functions of PyFlink's expressions that Spark's SQL lacks, each with what to use instead."""

from __future__ import annotations

from typing import Any

from flinkish.common.errors import UnsupportedOperationError
from flinkish.table.expression import Expression

__all__ = [
    "current_time",
    "current_watermark",
    "descriptor",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "local_time",
    "range_",
    "source_watermark",
]

_JSON = "Spark's SQL has to_json and from_json: write them with call_sql('...')"


def current_time() -> Expression[Any]:
    """Refused: UnsupportedOperationError says what to take."""
    raise UnsupportedOperationError(
        "Spark's tables have no TIME here: take local_timestamp(), or its text by date_format"
    )


def local_time() -> Expression[Any]:
    """Refused: UnsupportedOperationError says what to take."""
    return current_time()


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Refused: UnsupportedOperationError says what to take."""
    raise UnsupportedOperationError(
        f"range_({start!r}, {end!r}): Spark's SQL names columns one by one: take "
        "with_columns('a', 'b')"
    )


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """Refused: UnsupportedOperationError says where the watermark is."""
    raise UnsupportedOperationError(
        "Spark's SQL knows no watermark: take a ProcessFunction on the stream, whose "
        "ctx.timer_service().current_watermark() is it"
    )


def source_watermark() -> Expression[Any]:
    """Refused: UnsupportedOperationError says where watermarks are made."""
    raise UnsupportedOperationError(
        "Spark's sources have no watermarks: write one over a column, as in "
        "watermark('ts', \"ts - INTERVAL '5' SECOND\")"
    )


def descriptor(*column_names: str) -> Expression[Any]:
    """Refused: UnsupportedOperationError says how windows are written."""
    raise UnsupportedOperationError(
        "a descriptor belongs to a table function of windows: take table.window(Tumble.over(...)), "
        "or TUMBLE in SQL"
    )


def json(value: Any) -> Expression[Any]:
    """Refused: UnsupportedOperationError says what to take."""
    raise UnsupportedOperationError(_JSON)


def json_object(on_null: Any = None, *args: Any) -> Expression[str]:
    """Refused: UnsupportedOperationError says what to take."""
    raise UnsupportedOperationError(_JSON)


def json_array(on_null: Any = None, *args: Any) -> Expression[str]:
    """Refused: UnsupportedOperationError says what to take."""
    raise UnsupportedOperationError(_JSON)


def json_object_agg(on_null: Any, key_expr: Any, value_expr: Any) -> Expression[str]:
    """Refused: UnsupportedOperationError says what to take."""
    raise UnsupportedOperationError(_JSON)


def json_array_agg(on_null: Any, item_expr: Any) -> Expression[str]:
    """Refused: UnsupportedOperationError says what to take."""
    raise UnsupportedOperationError(_JSON)
