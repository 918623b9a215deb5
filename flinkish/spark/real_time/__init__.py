"""Keyed operators in Spark's real-time mode: rows are handled as they come, within a long batch.

Owns: what comes to a task as mails, packing without waiting, the operator's loop, the settings.
Uses: ``versions``, ``keyed`` and the mailbox.
Must not: let state count that Spark's batch does not.
"""
