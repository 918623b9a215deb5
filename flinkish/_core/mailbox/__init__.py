"""The mailbox of a task.

Owns: mail, its lanes by priority, the lock and parking, the loop.
Uses: ``memory``.
Must not: start a thread.
"""
