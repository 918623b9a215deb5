"""Windows of any function, element by element, and joins by time.

Owns: the order of work in a window, how its elements are kept, merging,
interval joins.
Uses: ``memory``, ``values``, ``timers``, ``state``, ``operators``, ``windows``.
Must not: decide when a window fires: triggers do.
"""
