"""Doors through which tests reach what only C can call.

Owns: such doors.
Uses: whatever they open.
Must not: be imported by the package.
"""
