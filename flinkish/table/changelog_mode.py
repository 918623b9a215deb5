"""PyFlink's modes of changelogs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChangelogMode"]


@dataclass(frozen=True)
class ChangelogMode:
    """Which kinds of changes a consumer takes; rows that are added are among them always."""

    updates: bool

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows that are added, alone."""
        return ChangelogMode(updates=False)

    @staticmethod
    def upsert() -> ChangelogMode:
        """Rows that are added, that change, and that go, without those before a change."""
        return ChangelogMode(updates=True)

    @staticmethod
    def all() -> ChangelogMode:
        """All kinds of changes."""
        return ChangelogMode(updates=True)
