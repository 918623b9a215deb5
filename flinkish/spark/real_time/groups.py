"""The key groups of a task that are open at once, over one run of the operator.

Functions are opened once a task, as in Flink.  Their handles of states belong to the run's table,
into which the keys, state and timers of the key group at hand are laid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flinkish._core.operators.key_group_tables import KeyGroupTables
from flinkish.common.errors import IllegalStateError
from flinkish.spark.keyed.group_state import GroupState, open_tables
from flinkish.spark.keyed.operator_run import BLOCK, OperatorRun
from flinkish.spark.keyed.plan import AFTER_WATERMARK, OperatorPlan
from flinkish.spark.keyed.result_rows import Result
from flinkish.spark.real_time.partition_rows import PartitionRows
from flinkish.spark.versions.state import PartitionState

__all__ = ["OpenGroups"]

_ASTRAY = (
    "operator {0!r} got a row of another partition than its own, which is {1} of {2}: its key has "
    "another hash in the JVM than in Python, so its state could be split"
)


class OpenGroups:
    """The open key groups of a partition.

    `set_clocks` before anything is handed over or fired.  At the end `commit`, or `abandon`, after
    each of which none is open.
    """

    def __init__(
        self, plan: OperatorPlan, run: OperatorRun, state: PartitionState, partition: int
    ) -> None:
        assert plan.partitions is not None
        self._partition, self._partitions = partition, plan.partitions
        self._run = run
        self._plan = plan
        self._state = state
        self._files = open_tables(plan, run.query_id)
        self._groups: dict[int, GroupState] = {}
        self._tables = KeyGroupTables(run.table, served=plan.processing_time)
        run.outputs.open_tables = self._tables
        self._watermark = self._now = 0

    @property
    def next_wake_up(self) -> int:
        """When (ms) a timer on processing time may be due; the highest number without one."""
        return self._tables.processing

    def set_clocks(self, watermark: int, now: int) -> None:
        """Set the clocks (ms) that rows and timers see from now on."""
        self._watermark, self._now = watermark, now
        self._run.table.watermark = watermark
        self._run.table.processing_time = now

    def process(self, rows: PartitionRows) -> Iterator[Result]:
        """Hand rows of several key groups to the function."""
        for key_group in set(rows.groups.tolist()):
            self.open(key_group)
        run = self._run
        for start in range(0, len(rows), BLOCK):
            block = slice(start, start + BLOCK)
            yield from run.process_groups(
                rows.elements(start, min(start + BLOCK, len(rows))),
                rows.keys,
                start,
                None if rows.times is None else rows.times[block],
                rows.groups[block],
                AFTER_WATERMARK,
            )
            yield from run.take_outputs(AFTER_WATERMARK)

    def process_payloads(self, key_group: int, payloads: Sequence[bytes]) -> Iterator[Result]:
        """Hand packed rows of one key group to the function."""
        run = self._run
        self._use(key_group)
        yield from run.process(payloads, AFTER_WATERMARK)
        yield from run.take_outputs(AFTER_WATERMARK)
        self._tables.look()

    def fire(self) -> Iterator[Result]:
        """Fire what is due in any of them."""
        run = self._run
        for key_group in self._tables.due(self._watermark, self._now):
            self._use(key_group)
            yield from run.advance(self._watermark, self._now, AFTER_WATERMARK)
            yield from run.take_outputs(AFTER_WATERMARK)
            self._tables.look()

    def _use(self, key_group: int) -> None:
        """Have a key group at hand, opened if it is not."""
        self.open(key_group)
        self._tables.use(key_group)
        self._run.check()
        self._run.begin(key_group, self._watermark, self._now)

    def open(self, key_group: int) -> None:
        """Read a key group, if it is not open; IllegalStateError for one of another partition."""
        if key_group in self._groups:
            return
        if key_group % self._partitions != self._partition:
            uid = self._plan.uid
            raise IllegalStateError(_ASTRAY.format(uid, self._partition, self._partitions))
        self._tables.use(key_group)
        self._run.check()
        group = GroupState(self._plan, self._run.backend, self._state, self._files)
        self._groups[key_group] = group
        self._state.use(key_group)
        group.open(key_group)
        self._tables.look()

    def explain(self, error: BaseException) -> None:
        """Note on an error of the operator where it happened."""
        at = self._tables.at_hand
        self._run.explain(error, at if at >= 0 else None)

    # --- the end

    def commit(self, watermark: int, now: int) -> None:
        """Write what the key groups hold."""
        for key_group, group in self._groups.items():
            self._tables.use(key_group)
            self._state.use(key_group)
            group.commit(self._run.next_wake_up(now), watermark)
            self._run.counts.add(group.counters)
        self._groups.clear()

    def abandon(self) -> None:
        """Throw away what the key groups hold."""
        for key_group, group in self._groups.items():
            self._tables.use(key_group)
            group.abandon()
        self._groups.clear()
