"""The interface of the formats of records: bytes in, elements out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkish.common.typeinfo import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RecordDecoder", "Records"]


class RecordDecoder(ABC):
    """Makes elements of records.

    Rows are tuples of their fields.  Threading: one thread at a time.
    """

    def __init__(self, produced: TypeInformation) -> None:
        self.produced = produced

    @abstractmethod
    def decode(self, record: bytes | None) -> list[Any]:
        """The elements of a record, if any; the record None is a tombstone of Kafka.

        RecordError says why the record, or which field of it, cannot be read.
        """

    def decode_column(self, records: pa.Array) -> pa.Array | None:
        """The elements of a whole column of records, if that gives the same result; else None."""
        return None


@dataclass(frozen=True)
class Records:
    """The records of a source: their decoder, and SQL for their bytes and their origin."""

    decoder: RecordDecoder
    value: str
    origin: Sequence[str]
