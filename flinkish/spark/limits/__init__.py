"""Limits that hold across a whole job: rates, and calls at once.

Owns: what users say about limits, the ledger of permits on the driver, the leases of workers.
Uses: ``common``.
Must not: ask anybody for a permit while a call waits, if it could have asked before.
"""

from flinkish.spark.limits.rate import Adaptive, Concurrency, Rate

__all__ = ["Adaptive", "Concurrency", "Rate"]
