"""Calls to outside services: ``async_map``.

Owns: the plan of calls, what lies around each, answers as columns.
Uses: ``tasks``, ``limits``, ``results``, ``control_plane``.
Must not: make a call twice of which a result is kept.
"""
