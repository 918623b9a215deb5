"""The hierarchical timing wheel.

Owns: the wheel, its clock, timers with tasks, timeouts of an event loop.
Uses: ``memory``.
Must not: read a clock: time is an argument.
"""
