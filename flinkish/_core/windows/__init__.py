"""The parts that all windows share.

Owns: time windows, sets of merging windows.
Uses: nothing.
Must not: know which triggers there are.
"""
