"""Records of JSON as rows."""

from __future__ import annotations

from typing import Any

from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_nodes import NodeReader, stripped
from flinkish.common.row_formats.json_values import JsonValues, has_decimals
from flinkish.common.typeinfo import RowTypeInfo

__all__ = ["JsonRecordDecoder"]


class JsonRecordDecoder(RecordDecoder):
    """One JSON object per record, as JsonRowDeserializationSchema reads it.

    With ``ignores``, a field that cannot be read is None, and a record that is not an object is
    left out.
    """

    def __init__(self, produced: RowTypeInfo, *, ignores: bool, complete: bool) -> None:
        super().__init__(produced)
        self._settings = (produced, ignores, complete)
        self._ignores = ignores
        self._nodes = NodeReader(stripped if has_decimals(produced) else None)
        self._row = JsonValues(ignores, complete).row(produced)

    def __reduce__(self) -> tuple[Any, ...]:
        return _decoder, self._settings

    def decode(self, record: bytes | None) -> list[Any]:
        """The row; no element for the JSON ``null``."""
        try:
            if record is None:
                raise RecordError("the record has no value (a tombstone)")
            node = self._nodes.read(record)
            return self._rows_of(node)
        except RecordError:
            if self._ignores:
                return []
            raise

    def _rows_of(self, node: Any) -> list[Any]:
        try:
            return [] if node is None else [self._row(node)]
        except RecursionError:
            raise RecordError("values are nested too deep") from None


def _decoder(produced: RowTypeInfo, ignores: bool, complete: bool) -> JsonRecordDecoder:
    return JsonRecordDecoder(produced, ignores=ignores, complete=complete)
