"""Windows of built-in aggregates, by columns.

Owns: accumulators, panes, sessions, what fires.
Uses: ``memory``, ``values``, ``timers``, ``state``, ``windows``.
Must not: see single elements.
"""
