"""Moves of a query's state from Spark's store to version files, and back.

Owns: copies of Spark's logs, what a move writes into them, and the check of what it wrote.
Uses: ``versions``, ``keyed``, ``streams``.
Must not: change the checkpoint that it reads.
"""
