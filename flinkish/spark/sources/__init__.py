"""Source functions as Spark's data sources.

Owns: what Spark sees of a source, the thread of its function.
Uses: ``session`` and its neighbours.
Must not: acknowledge what Spark has not committed.
"""
