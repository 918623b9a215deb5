"""Windows of built-in aggregates, by columns.

Owns: their plan, what they pack, their run.
Uses: ``keyed``.
Must not: see single rows.
"""
