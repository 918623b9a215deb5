"""Exactly-once keyed operators: what is planned, what travels, what each key group runs.

Owns: the plan of an operator, packages of rows, the state of key groups in Spark's store and its
settings, the runs of operators.
Uses: ``session`` and its neighbours, ``control_plane``, ``tables``.
Must not: know the streams that users hold.
"""
