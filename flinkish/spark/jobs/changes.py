"""How the rows of a query change while those of its inputs come: read off Spark's plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import IntEnum

from flinkish.spark.internals import PlanNode

__all__ = ["Change", "Changes", "changes_of"]


class Change(IntEnum):
    """The effect of more rows of the inputs on the rows of a query; later ones are worse."""

    EACH = 0  # each row makes its own rows: rows may come in any portions
    APPEND = 1  # rows are added, but which ones depends on rows that came before
    UPDATE = 2  # rows that were there change, or go


@dataclass(frozen=True)
class Changes:
    """The worst change that a query makes, and the words of SQL that make it."""

    change: Change
    why: str = ""


_EACH = Changes(Change.EACH)

# Nodes that make rows of one row each, by the names of Catalyst's classes.
_ROW_BY_ROW = frozenset(
    (
        *("Project", "Filter", "Generate", "Expand", "BatchEvalPython", "ArrowEvalPython"),
        *("Repartition", "RepartitionByExpression", "RebalancePartitions"),
    )
)
_WORDS = {
    "Aggregate": "GROUP BY, DISTINCT, UNION without ALL, or an aggregate function",
    "Window": "a function OVER a window",
    "Sample": "TABLESAMPLE",
}
_LIMITS = frozenset(("GlobalLimit", "LocalLimit", "Offset", "Tail"))
_ADDING_JOINS = frozenset(("Inner", "Cross", "LeftSemi"))
# Joins with rows of Spark's own, by the side on which the rows of streams may be.
_LEFT = _ADDING_JOINS | {"LeftOuter", "LeftAnti"}
_RIGHT = frozenset(("Inner", "Cross", "RightOuter"))


def changes_of(plan: PlanNode, probes: Collection[str]) -> tuple[Changes, Counter[str]]:
    """The changes of a query, and how often it reads each of its inputs.

    The inputs are known by the names of their functions, ``probes``.  The plan is one for any rows
    of them, so what the optimizer left out of it does not matter.
    """
    reads = Counter(node.function for node in _all_of(plan) if node.function in probes)
    return _worst(plan, reads), reads


def _worst(node: PlanNode, probes: Collection[str]) -> Changes:
    """The worst change of a node and of all before it."""

    def moves(one: PlanNode) -> bool:
        return any(part.function in probes for part in _all_of(one))

    found = [_worst(child, probes) for child in node.children]
    if any(moves(one) for one in node.subqueries):
        found.append(Changes(Change.UPDATE, "a subquery that gives one value"))
    moving = [moves(child) for child in node.children]
    if any(moving) and node.function not in probes:
        found.append(_change_of(node, moving))
    return max(found, key=lambda one: one.change, default=_EACH)


def _change_of(node: PlanNode, moving: list[bool]) -> Changes:
    """The change that a node makes of rows that come."""
    name = node.name
    if name in _ROW_BY_ROW:
        return _EACH
    if name == "Union":
        return _EACH if all(moving) else Changes(Change.APPEND, "UNION ALL with rows of no stream")
    if name == "Sort":
        return Changes(Change.APPEND, "ORDER BY")
    if name in _LIMITS:
        if any(one.name == "Sort" for one in _all_of(node)):
            return Changes(Change.UPDATE, "ORDER BY with LIMIT or OFFSET")
        return Changes(Change.APPEND, "LIMIT or OFFSET")
    if name == "Join":
        words = f"a join ({node.join})"
        if all(moving):
            words = f"{words} of rows of streams on both sides"
            change = Change.APPEND if node.join in _ADDING_JOINS else Change.UPDATE
            return Changes(change, words)
        kept = _LEFT if moving[0] else _RIGHT
        return _EACH if node.join in kept else Changes(Change.UPDATE, words)
    return Changes(Change.UPDATE, _WORDS.get(name, f"Spark's {name}"))


def _all_of(node: PlanNode) -> Iterator[PlanNode]:
    """A node and all before it, those of subqueries too."""
    yield node
    for one in (*node.children, *node.subqueries):
        yield from _all_of(one)
