"""The rows of a stream, and all that operators over them have to know of what lies before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flinkish.spark.keyed.plan import MARK, PHASE
from flinkish.spark.streams.chosen_keys import ChosenKeys

__all__ = ["KeyedRows", "StreamRows"]


@dataclass(frozen=True)
class StreamRows:
    """The rows of a stream.

    ``columns`` are the user's; rows that an operator made have EVENT_TIME and PHASE besides, and if
    they are ``marked`` there are marks of the watermark among them (`flinkish.spark.keyed.marks`).
    ``operators`` and ``calls`` count the keyed operators before, and the calls after the last of
    them.  ``watermark`` is the rule of the watermark in words: of rows from a source it
    ``trails_by`` so many ms the latest.  ``watermark_lost`` says that Spark passes none on.
    ``paths`` has for each operator before how it runs, and its details; ``names`` their names, and
    what tells two of one name apart.
    """

    frame: DataFrame
    columns: tuple[str, ...]
    event_time: str | None = None
    operators: int = 0
    calls: int = 0
    watermark: str | None = None
    trails_by: int | None = None
    marked: bool = False
    watermark_lost: bool = False
    paths: Mapping[str, list[str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def streaming(self) -> bool:
        """Whether it is of a streaming DataFrame."""
        return self.frame.isStreaming

    @property
    def chained(self) -> bool:
        """Whether a keyed operator made the rows."""
        return self.operators > 0

    def to_df(self) -> DataFrame:
        """The columns of the user."""
        rows = self.frame.where(F.col(PHASE) != MARK) if self.marked else self.frame
        return rows.select(*self.columns)


@dataclass(frozen=True)
class KeyedRows:
    """The rows of a stream, and their keys."""

    rows: StreamRows
    keys: ChosenKeys
