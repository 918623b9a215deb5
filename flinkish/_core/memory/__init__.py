"""Flat memory: what tables, heaps and queues are made of.

Owns: segments (heap or mapped file), slabs of byte strings, sets of ids, the indexed heap of nodes,
slots of objects, locks and futexes.
Uses: nothing.
Must not: know what it holds.
"""
