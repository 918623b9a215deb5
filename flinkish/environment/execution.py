"""The run of a program: its graph, made of streams of `flinkish.spark` once a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import IllegalArgumentError, IllegalStateError
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

    def __init__(
        self,
        added: Sequence[Node],
        options: Mapping[str, Any],
        job_parameters: Mapping[str, str],
        tasks: int | None,
    ) -> None:
        ends = [node for node in added if node.role == "sink"]
        read = {one for node in added for one in node.inputs}
        runs = ("operator", "partition")
        ends += [node for node in added if node.role in runs and node not in read]
        if not ends:
            raise IllegalStateError(
                "this program has no operator or sink that was not executed yet: call print(), "
                "add_sink(...) or sink_to(...) on a stream before execute()"
            )
        self.ends = ends
        self.nodes = with_ancestors(ends)
        self.sources = [node for node in self.nodes if node.role == "source"]
        self._options = dict(options)
        self.job_parameters = dict(job_parameters)
        self._tasks = tasks
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
                node.act(this.of_sink(node.operator_uid), made.before(source, node))

    def options_of(self, node: Node) -> dict[str, Any]:
        """The options of an operator with keys."""
        options = self._options | {
            "uid": node.operator_uid,
            "job_parameters": self.job_parameters,
        }
        if node.max_parallelism is not None:
            options["max_parallelism"] = node.max_parallelism
        if node.timers:
            options["processing_time_timers"] = True
        return options

    def tasks_of(self, node: Node) -> int | None:
        """How many tasks an operator or a sink has; None for as many as Spark says.

        A partition of the user's own has those of the operators that read it.  A function without
        keys runs in the tasks of the one before it, unless it has a parallelism of its own.
        """
        if node.role == "partition":
            return self._tasks_after(node)
        if node.role == "source" or node.parallelism is not None:
            return None if node.role == "source" else node.parallelism
        if node.keyed:
            return self._tasks
        return self.tasks_of(node.inputs[0]) if len(node.inputs) == 1 else None

    def _tasks_after(self, node: Node) -> int | None:
        """IllegalArgumentError for operators of different parallelisms after a partition."""
        readers = [one for one in self.nodes if node in one.inputs and not one.keyed]
        found = {one.name: 1 if one.alone else one.parallelism or self._tasks for one in readers}
        if len(set(found.values())) > 1:
            said = ", ".join(f"{name} ({tasks or 'of the job'})" for name, tasks in found.items())
            raise IllegalArgumentError(
                f"the operators after {node.name} have several parallelisms, {said}: call its "
                "method once for each of them"
            )
        return next(iter(found.values()), self._tasks)

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
        inputs = [self.before(one, node) for one in node.inputs]
        if node.role == "table":
            return node.build(self._round, *inputs)
        if node.role == "partition":
            return node.build(self._round, *inputs, self._execution.tasks_of(node))
        options = self._execution.options_of(node) if node.keyed else {}
        return node.build(*inputs, **options)

    def before(self, one: Node, node: Node) -> Any:
        """The stream of a node as an input of another one, in as many tasks as that asks for."""
        stream, tasks = self.of(one), self._execution.tasks_of(node)
        if node.keyed:
            return self._round.keyed(stream, tasks)
        moves = node.parallelism is not None and node.role in ("operator", "sink")
        if tasks is not None and moves and self._execution.tasks_of(one) != tasks:
            stream = self._round.dealt(stream, tasks)
        return self._round.before(stream, node.operator_uid, tasks)

    def _all_outputs(self, node: Node) -> Any:
        """The values of all outputs of a function, with their tags, of one run of it."""
        if node not in self._tagged:
            assert node.tagged is not None
            inputs = [self.before(one, node) for one in node.inputs]
            self._tagged[node] = self._round.shared(node.tagged(*inputs))
        return self._tagged[node]
