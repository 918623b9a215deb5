"""Names for rows and ledgers that stay the same from run to run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from flinkish.common.row import Row
from flinkish.spark.results.identity import value_version

__all__ = ["KEY_BYTES", "fingerprint", "row_key"]

KEY_BYTES = 16


def row_key(row: Row) -> bytes:
    """A hash of a row: equal for equal values of fields of equal names, in whatever order.

    It does not depend on the process.  Results written for it may be found in years.
    Which types the columns have is the business of the `fingerprint`.
    """
    return hashlib.blake2b(_canonical(row).encode(), digest_size=KEY_BYTES).digest()


def fingerprint(function: str, version: str, settings: Mapping[str, Any], schema: pa.Schema) -> str:
    """A name for results that may stand in for each other: same function, settings and columns.

    Results are found by it in years, so it is what it always was for settings as JSON has them;
    others count by their class and state, and are refused if they have none to compare.
    """
    about = [function, version, sorted(_as_json(settings).items()), str(schema.remove_metadata())]
    text = json.dumps(about, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES).hexdigest()


def _as_json(value: Any) -> Any:
    """Settings, with a hash in the place of what JSON has not."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping) and all(type(name) is str for name in value):
        return {name: _as_json(inner) for name, inner in value.items()}
    if type(value) in (list, tuple):
        return [_as_json(inner) for inner in value]
    return "value " + value_version(value, "one of the settings")


def _canonical(value: Any) -> str:
    """A text for a value; what has names is in their order."""
    if isinstance(value, Row):
        names = value.get_field_names()
        value = value.as_dict() if names else list(value)
    if isinstance(value, dict):
        items = sorted((repr(name), _canonical(inner)) for name, inner in value.items())
        return f"{{{','.join(':'.join(item) for item in items)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_canonical, value))}]"
    return repr(value)
