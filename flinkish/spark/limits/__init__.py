"""Limits that hold across a whole job: rates, and calls at once.

Owns: what users say about limits, the ledger of permits on the driver, the leases of workers.
Uses: ``common``.
Must not: ask anybody for a permit while a call waits, if it could have asked before.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.spark.limits.rate import Adaptive, Concurrency, Rate
else:
    __getattr__, __dir__ = lazy_names(
        __name__, {"flinkish.spark.limits.rate": ("Adaptive", "Concurrency", "Rate")}
    )

__all__ = ["Adaptive", "Concurrency", "Rate"]
