"""The graph of a program: its sources, operators and sinks, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input
    from flinkish.spark.jobs.rounds import Round

__all__ = ["Act", "Build", "Graph", "Node", "Role"]

Role: TypeAlias = Literal["source", "operator", "partition", "side output", "table", "sink"]

# Makes a stream of `flinkish.spark` of those of the inputs, with the options of the operator.
Build: TypeAlias = Callable[..., Any]
# What a sink does with its stream in a round.
Act: TypeAlias = "Callable[[Round, Any], None]"


@dataclass(eq=False)
class Node:
    """A source, an operator, one of its side outputs, a table, or a sink.

    ``kind`` is the type of its elements, None if none was declared.  ``build`` is called with the
    streams of the ``inputs``; if it is ``keyed``, also with options by keyword.  ``tagged`` builds
    all outputs of a function without keys in one stream, for the ``tags`` that were asked for.  One
    that ``reads_twice`` reads rows and marks of the watermark of its inputs apart.  The build of a
    table takes the round before the streams, and a table that nothing reads does not run.  That of
    a partition, which deals the elements of its input, takes the round, the stream, and the number
    of tasks.  A sink that is ``alone`` is one place for all elements, in this process.
    """

    number: int
    name: str
    role: Role
    inputs: tuple[Node, ...] = ()
    kind: TypeInformation | None = None
    build: Build | None = None
    keyed: bool = False
    timers: bool = False
    reads_twice: bool = False
    tagged: Build | None = None
    tags: list[OutputTag] = field(default_factory=list)
    tag: OutputTag | None = None
    source: Callable[[], Input] | None = None
    act: Act | None = None
    alone: bool = False
    ships: str = ""
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def operator_uid(self) -> str:
        """The name of its state in checkpoints: the user's, or one by its place in the program."""
        return self.uid or f"{self.name.lower().replace(' ', '-')}-{self.number}"


_PACTS = {"source": "Data Source", "sink": "Data Sink"}


class Graph:
    """The nodes of a program that wait for the next job.

    Numbers go on from job to job of an environment, so no two operators share one.
    """

    def __init__(self) -> None:
        self._next = 1
        self.nodes: list[Node] = []

    def add(self, name: str, role: Role, inputs: Sequence[Node] = (), **given: Any) -> Node:
        """A new node after others."""
        node = Node(self._next, name, role, tuple(inputs), **given)
        self._next += 1
        self.nodes.append(node)
        return node

    def drop(self, node: Node) -> None:
        """Forget a node that no other node reads."""
        if node in self.nodes and not any(node in one.inputs for one in self.nodes):
            self.nodes.remove(node)

    def apart(self, name: str, inputs: Sequence[Node], act: Act) -> list[Node]:
        """A sink and all that it needs, for a job of its own; other nodes go on waiting."""
        node = self.add(name, "sink", inputs, act=act)
        self.nodes.remove(node)
        return with_ancestors([node])

    def plan(self, tasks: int) -> list[dict[str, Any]]:
        """The operators as Flink's execution plans show them; ``tasks`` is the parallelism."""
        return [
            {
                "id": node.number,
                "type": node.name,
                "pact": _PACTS.get(node.role, "Operator"),
                "contents": node.name,
                "parallelism": node.parallelism or tasks,
                "uid": node.operator_uid,
                "predecessors": [
                    {"id": one.number, "ship_strategy": strategy, "side": "second"}
                    for source in node.inputs
                    for one, strategy in _shipped(source, "HASH" if node.keyed else "FORWARD")
                ],
            }
            for node in self.nodes
            if not node.ships
        ]

    def take(self) -> list[Node]:
        """The nodes since the last job; the next job has others.

        IllegalArgumentError for two operators of one uid.
        """
        uids: dict[str, Node] = {}
        for node in self.nodes:
            other = uids.setdefault(node.operator_uid, node)
            if other is not node:
                raise IllegalArgumentError(
                    f"two operators of this program have the uid {node.operator_uid!r}, "
                    f"{other.name} and {node.name}: give each its own"
                )
        found, self.nodes = self.nodes, []
        return found


def _shipped(node: Node, strategy: str) -> Iterator[tuple[Node, str]]:
    """The operators that send elements to a reader of this node, and how they are shipped."""
    if not node.ships:
        yield node, strategy
        return
    for one in node.inputs:  # a union ships elements as its reader does
        yield from _shipped(one, strategy if node.ships == "UNION" else node.ships)


def with_ancestors(nodes: Sequence[Node]) -> list[Node]:
    """These nodes and all that they need, inputs first."""
    found: dict[int, Node] = {}

    def visit(node: Node) -> None:
        if node.number not in found:
            for one in node.inputs:
                visit(one)
            found[node.number] = node

    for node in nodes:
        visit(node)
    return list(found.values())
