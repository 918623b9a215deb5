"""Results that survive the job that paid for them.

Owns: keys of rows, versions of functions; segments of results on any file system, their index,
their compaction.
Uses: ``_core`` for frames, ``common``.
Must not: believe a byte that its checksum does not vouch for, or share a file between attempts.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.spark.results.compaction import Compaction
    from flinkish.spark.results.identity import function_version
    from flinkish.spark.results.index import LedgerIndex
    from flinkish.spark.results.keys import KEY_BYTES, fingerprint, row_key
    from flinkish.spark.results.layer import LedgerLayer
    from flinkish.spark.results.ledger import ResumeLedger
    from flinkish.spark.results.segments import Damage
    from flinkish.spark.results.writer import LedgerWriter
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.spark.results.compaction": ("Compaction",),
            "flinkish.spark.results.identity": ("function_version",),
            "flinkish.spark.results.index": ("LedgerIndex",),
            "flinkish.spark.results.keys": ("KEY_BYTES", "fingerprint", "row_key"),
            "flinkish.spark.results.layer": ("LedgerLayer",),
            "flinkish.spark.results.ledger": ("ResumeLedger",),
            "flinkish.spark.results.segments": ("Damage",),
            "flinkish.spark.results.writer": ("LedgerWriter",),
        },
    )

__all__ = [
    "KEY_BYTES",
    "Compaction",
    "Damage",
    "LedgerIndex",
    "LedgerLayer",
    "LedgerWriter",
    "ResumeLedger",
    "fingerprint",
    "function_version",
    "row_key",
]
