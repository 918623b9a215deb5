"""Chains of functions without keys: map, filter, flat_map, process.

Owns: the steps of a chain, its plan, and the run that hands element after element through
all of it.
Uses: ``keyed``'s names of columns, the stamps of ``calls``, ``operators`` for contexts.
Must not: know the streams that users hold.
"""
