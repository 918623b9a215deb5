"""The streams that users hold, over DataFrames.

Owns: ``DataStream`` and what comes of it, options, results of operators.
Uses: every room above it.
Must not: do work that a task could do.
"""
