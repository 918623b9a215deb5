"""Keyed state: a table for each key group, and its log.

Owns: rows, cells and entries of a table, what ``ValueState`` and its like do, namespaces, timer
services, logs.
Uses: ``memory``, ``values``, ``timers``.
Must not: know Spark, or where tables and logs are kept.
"""
