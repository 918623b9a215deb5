"""State versioned by Spark's batches, in files beside the checkpoint's own.

Owns: which batch a task belongs to, names of version files and the choice among them, manifests,
pieces of logs in files, the removal of old files.
Uses: ``_core``, ``common``.
Must not: know operators or tables; what a piece holds is its reader's business.
"""
