"""The compiled floor.

Owns: timers, tables, key groups and codecs as flat memory with C speed.
Uses: nothing of flinkish.
Must not: start a thread, open a socket, read a clock, log, or know Spark.
"""
