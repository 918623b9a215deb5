"""The loops of operators.

Owns: the loop over rows and timers, and the queue of asynchronous calls.
Uses: ``memory``, ``values``, ``timers``, ``state``.
Must not: call into Python more than once for an element.
"""
