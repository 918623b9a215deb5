"""Timers of an operator by key group: a heap for each, and the set of what is registered.

Owns: timers, batches of them, what a log holds of them, the face for Python.
Uses: ``memory``.
Must not: know keys: a key is an id.
"""
