"""Flink SQL rewritten for Spark, as far as that is possible without a parser.

- ``LATERAL TABLE(f(a)) AS t(x)`` calls a function of tables: ``LATERAL inline(f(a)) AS t(x)``.
- ``TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES))`` and HOP give the rows of a table
  with the columns window_start, window_end and window_time: a subquery with Spark's ``window``.
"""

from __future__ import annotations

import re

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.table.sql_text import bracketed, pieces

__all__ = ["flink_words"]

_LATERAL = re.compile(r"\bLATERAL\s+TABLE\s*\(", re.I)
_WINDOWED = re.compile(r"\bTABLE\s*\(\s*(TUMBLE|HOP|CUMULATE|SESSION)\s*\(", re.I)
_TABLE = re.compile(r"(?:DATA\s*=>\s*)?TABLE\s+(.+)", re.I | re.S)
_COLUMN = re.compile(r"(?:TIMECOL\s*=>\s*)?DESCRIPTOR\s*\(\s*(.+?)\s*\)", re.I | re.S)
_LENGTH = re.compile(
    r"(?:\w+\s*=>\s*)?INTERVAL\s+'(\d+)'\s+(SECOND|MINUTE|HOUR|DAY)S?(?:\s*\(\d+\))?", re.I
)


def flink_words(text: str) -> str:
    """The same query in Spark's SQL.

    UnsupportedOperationError for CUMULATE and SESSION, IllegalArgumentError for TUMBLE and HOP with
    wrong arguments.
    """
    return _with_windows(_with_lateral(text))


def _with_lateral(text: str) -> str:
    while match := _LATERAL.search(text):
        inside, after = bracketed(text[match.end() - 1 :])
        text = f"{text[: match.start()]}LATERAL inline({inside}){after}"
    return text


def _with_windows(text: str) -> str:
    while match := _WINDOWED.search(text):
        name = match[1].upper()
        if name not in ("TUMBLE", "HOP"):
            raise UnsupportedOperationError(
                f"{name} in SQL: take streams, key_by(...).window(EventTimeSessionWindows...), or "
                "table.window(Session.with_gap(...))"
            )
        arguments, after = bracketed(text[match.end() - 1 :])
        if not after.lstrip().startswith(")"):
            raise IllegalArgumentError(f"a bracket is missing after {name}({arguments})")
        text = text[: match.start()] + _window(name, arguments) + after.lstrip()[1:]
    return text


def _window(name: str, arguments: str) -> str:
    parts = pieces(arguments)
    table = _TABLE.fullmatch(parts[0]) if parts else None
    column = _COLUMN.fullmatch(parts[1]) if len(parts) > 1 else None
    lengths = [_LENGTH.fullmatch(part) for part in parts[2:]]
    wanted = 1 if name == "TUMBLE" else 2
    if table is None or column is None or len(lengths) != wanted or None in lengths:
        raise IllegalArgumentError(
            f"{name}({arguments}): needed are TABLE t, DESCRIPTOR(ts) and {wanted} interval(s), as "
            "in INTERVAL '10' MINUTES; windows with an offset are made by streams, "
            "TumblingEventTimeWindows.of(size, offset)"
        )
    spans = [f"'{match[1]} {match[2]}'" for match in lengths if match is not None]
    spans.reverse()  # HOP has the slide before the size
    window = f"window({column[1]}, {', '.join(spans)})"
    return (
        "(SELECT * EXCEPT (flinkish_window), flinkish_window.start AS window_start, "
        "flinkish_window.end AS window_end, "
        "flinkish_window.end - INTERVAL '0.001' SECOND AS window_time "
        f"FROM (SELECT *, {window} AS flinkish_window FROM {table[1]}))"
    )
