"""A ledger of results, so that a job that is started again does not pay twice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from flinkish.common.durations import DurationLike, to_millis
from flinkish.spark.results.compaction import Compaction, compact
from flinkish.spark.results.files import Place
from flinkish.spark.results.index import LedgerIndex
from flinkish.spark.results.keys import fingerprint
from flinkish.spark.results.writer import LedgerWriter

__all__ = ["ResumeLedger"]

# Of the process: its tasks, one after the other, mostly read the same ledger.
_index: tuple[tuple[str, str], LedgerIndex] | None = None


@dataclass(frozen=True)
class ResumeLedger:
    """Results of one function with one set of settings, in a directory below ``path``.

    ``path`` is a local path or a URI, those of pyarrow (``s3:``, ``gs:``, ``hdfs:`` …) or of
    fsspec.  ``function`` and ``version`` name the function (see `function_version`), ``settings``
    whatever else results depend on, and ``schema`` the columns of an output row.  Results of
    another function, version, settings or schema lie in another directory and are not seen.

    It is sent to workers, each of which takes an `index` to look results up in and a `writer`
    for its attempt.
    """

    path: str
    function: str
    version: str
    schema: pa.Schema
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.fspath(self.path))

    @property
    def fingerprint(self) -> str:
        """The name of the directory: a hash of function, version, settings and schema."""
        return fingerprint(self.function, self.version, self.settings, self.schema)

    def writer(self, attempt: str) -> LedgerWriter:
        """Where an attempt writes; ``attempt`` is for those who look at the files."""
        return LedgerWriter(self._place(), attempt)

    def index(self) -> LedgerIndex:
        """The index of the results written by now; that of this process, brought up to date."""
        global _index
        name = (self.path, self.fingerprint)
        if _index is None or _index[0] != name:
            _index = name, LedgerIndex(self._place(), self._kind)
        _index[1].refresh()
        return _index[1]

    def compact(self, idle: DurationLike = "10 minutes") -> Compaction:
        """Merge segments that were closed, or that nobody has written to for ``idle``."""
        return compact(self._place(), self._kind, to_millis(idle, "idle", minimum=0))

    @property
    def _kind(self) -> pa.DataType:
        return pa.list_(pa.struct(list(self.schema)))

    def _place(self) -> Place:
        return Place(self.path, self.fingerprint)
