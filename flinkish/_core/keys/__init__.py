"""Which key group a key has.

Owns: Java's hashes of single keys and of whole columns, and key groups.
Uses: ``values``, ``columns``.
Must not: know state.
"""
