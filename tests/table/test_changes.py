"""How rows of queries change, by plans that are made by hand."""

import pytest

pytest.importorskip("pyspark")

from flinkish.spark.internals import PlanNode
from flinkish.spark.jobs.changes import Change, changes_of

A = PlanNode("MapInArrow", "a", "", (PlanNode("Range", "", "", (), ()),), ())
B = PlanNode("MapInArrow", "b", "", (), ())
STILL = PlanNode("MapInArrow", "users", "", (), ())


def node(
    name: str, *children: PlanNode, join: str = "", sub: tuple[PlanNode, ...] = ()
) -> PlanNode:
    return PlanNode(name, "", join, children, sub)


@pytest.mark.parametrize(
    ("plan", "change"),
    [
        (A, Change.EACH),
        (node("Project", node("Filter", A)), Change.EACH),
        (node("Union", A, B), Change.EACH),
        (node("Union", A, STILL), Change.APPEND),
        (node("Sort", A), Change.APPEND),
        (node("GlobalLimit", node("LocalLimit", A)), Change.APPEND),
        (node("GlobalLimit", node("Project", node("Sort", A))), Change.UPDATE),
        (node("Project", node("Aggregate", A)), Change.UPDATE),
        (node("Filter", node("NodeOfALaterSpark", A)), Change.UPDATE),
        (node("Aggregate", STILL), Change.EACH),
        (node("Join", A, node("Aggregate", STILL), join="Inner"), Change.EACH),
        (node("Join", STILL, A, join="Inner"), Change.EACH),
        (node("Join", A, STILL, join="LeftAnti"), Change.EACH),
        (node("Join", STILL, A, join="LeftOuter"), Change.UPDATE),
        (node("Join", STILL, A, join="LeftSemi"), Change.UPDATE),
        (node("Join", STILL, A, join="RightOuter"), Change.EACH),
        (node("Join", A, STILL, join="FullOuter"), Change.UPDATE),
        (node("Join", A, STILL, join="ExistenceJoin(exists#1)"), Change.UPDATE),
        (node("Join", A, B, join="Inner"), Change.APPEND),
        (node("Join", A, A, join="LeftSemi"), Change.APPEND),
        (node("Join", A, B, join="LeftOuter"), Change.UPDATE),
        (node("Project", A, sub=(node("Aggregate", STILL),)), Change.EACH),
        (node("Project", A, sub=(node("Aggregate", B),)), Change.UPDATE),
        (node("Filter", STILL, sub=(node("Aggregate", A),)), Change.UPDATE),
    ],
)
def test_changes(plan: PlanNode, change: Change) -> None:
    found, _ = changes_of(plan, ("a", "b"))
    assert found.change is change
    assert bool(found.why) == (change is not Change.EACH)


def test_tables_that_are_read() -> None:
    plan = node("Union", node("Project", A, sub=(B,)), A, STILL)
    assert changes_of(plan, ("a", "b", "c"))[1] == {"a": 2, "b": 1}
