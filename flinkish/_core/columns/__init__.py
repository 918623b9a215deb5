"""Arrow columns to records and back.

Owns: the C data interface, readers and builders of columns.
Uses: ``values``.
Must not: import pyarrow: it is given capsules.
"""
