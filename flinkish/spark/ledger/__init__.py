"""Results that survive the job that paid for them.

Owns: keys of rows, versions of functions; segments of results on any file system, their index,
their compaction.
Uses: ``_core`` for frames, ``common``.
Must not: believe a byte that its checksum does not vouch for, or share a file between attempts.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.spark.ledger.compaction import Compaction
    from flinkish.spark.ledger.identity import function_version
    from flinkish.spark.ledger.index import LedgerIndex
    from flinkish.spark.ledger.keys import KEY_BYTES, fingerprint, row_key
    from flinkish.spark.ledger.layer import LedgerLayer
    from flinkish.spark.ledger.ledger import ResumeLedger
    from flinkish.spark.ledger.segments import Damage
    from flinkish.spark.ledger.writer import LedgerWriter
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.spark.ledger.compaction": ("Compaction",),
            "flinkish.spark.ledger.identity": ("function_version",),
            "flinkish.spark.ledger.index": ("LedgerIndex",),
            "flinkish.spark.ledger.keys": ("KEY_BYTES", "fingerprint", "row_key"),
            "flinkish.spark.ledger.layer": ("LedgerLayer",),
            "flinkish.spark.ledger.ledger": ("ResumeLedger",),
            "flinkish.spark.ledger.segments": ("Damage",),
            "flinkish.spark.ledger.writer": ("LedgerWriter",),
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
