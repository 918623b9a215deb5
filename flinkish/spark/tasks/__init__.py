"""Operators inside of ``mapInArrow``: no key, no state of Spark's.

Owns: the task, the thread that reads ahead, batches to Spark.
Uses: ``session`` and its neighbours, ``control_plane``.
Must not: keep state across batches.
"""
