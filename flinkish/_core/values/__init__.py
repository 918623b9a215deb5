"""Single values: what a row, a key or a state's value looks like.

Owns: rows, the binary form of values, civil dates, frames with versions and checksums.
Uses: ``memory``.
Must not: know columns or tables.
"""
