"""Delayed operations.

Owns: an operation's completion, exactly once; its lock; the lists that watch keys.
Uses: ``memory``, ``wheel``.
Must not: start a thread: a reaper drives it.
"""
