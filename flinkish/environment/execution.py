"""The run of a program: its graph, made of streams of `flinkish.spark` once a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import IllegalStateError
from flinkish.environment.nodes import Node, with_ancestors
from flinkish.environment.outputs import Untagged

if TYPE_CHECKING:
    from flinkish.spark.jobs.rounds import Round

__all__ = ["Execution"]


class Execution:
    """The nodes of a job.

    What several nodes read is made once a round.  Operators that nothing reads run, too, for their
    effects, as in Flink.
    """

    def __init__(self, added: Sequence[Node], options: Mapping[str, Any]) -> None:
        ends = [node for node in added if node.role == "sink"]
        read = {one for node in added for one in node.inputs}
        ends += [node for node in added if node.role == "operator" and node not in read]
        if not ends:
            raise IllegalStateError(
                "this program has no operator or sink that was not executed yet: call print(), "
                "add_sink(...) or sink_to(...) on a stream before execute()"
            )
        self.ends = ends
        self.nodes = with_ancestors(ends)
        self.sources = [node for node in self.nodes if node.role == "source"]
        self._options = dict(options)
        self._uses = Counter(
            one
            for node in self.nodes
            for one in node.inputs
            if node.role != "side output" or one.keyed
            for _ in range(2 if node.reads_twice else 1)
        )

    def __call__(self, this: Round) -> None:
        """Make the streams of a round, and run its sinks one after the other."""
        made = _Streams(self, this)
        for node in self.ends:
            if node.act is None:
                this.drain(made.of(node))
            else:
                (source,) = node.inputs
                node.act(this, made.of(source))

    def options_of(self, node: Node) -> dict[str, Any]:
        """The options of an operator with keys."""
        options = self._options | {"uid": node.operator_uid}
        if node.max_parallelism is not None:
            options["max_parallelism"] = node.max_parallelism
        if node.timers:
            options["processing_time_timers"] = True
        return options

    def is_shared(self, node: Node) -> bool:
        """Whether several nodes read it."""
        return self._uses[node] > 1


class _Streams:
    """The streams of a round, each made when it is first asked for."""

    def __init__(self, execution: Execution, this: Round) -> None:
        self._execution = execution
        self._round = this
        self._made: dict[Node, Any] = {}
        self._tagged: dict[Node, Any] = {}
        sources = zip(execution.sources, this.sources, strict=True)
        for node, stream in sources:
            self._made[node] = this.shared(stream) if execution.is_shared(node) else stream

    def of(self, node: Node) -> Any:
        """The stream of a node."""
        if node not in self._made:
            made = self._make(node)
            if self._execution.is_shared(node):
                made = self._round.shared(made)
            self._made[node] = made
        return self._made[node]

    def _make(self, node: Node) -> Any:
        if node.tag is not None:
            (owner,) = node.inputs
            if owner.tagged is None:
                return self.of(owner).get_side_output(node.tag)
            return self._all_outputs(owner).flat_map(Untagged(node.tag), node.kind)
        if node.tags and node.tagged is not None:
            return self._all_outputs(node).flat_map(Untagged(), node.kind)
        assert node.build is not None
        inputs = [self.of(one) for one in node.inputs]
        if node.role == "table":
            return node.build(self._round, *inputs)
        options = self._execution.options_of(node) if node.keyed else {}
        return node.build(*inputs, **options)

    def _all_outputs(self, node: Node) -> Any:
        """The values of all outputs of a function, with their tags, of one run of it."""
        if node not in self._tagged:
            assert node.tagged is not None
            inputs = [self.of(one) for one in node.inputs]
            self._tagged[node] = self._round.shared(node.tagged(*inputs))
        return self._tagged[node]
