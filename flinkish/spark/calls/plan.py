"""Asynchronous calls on a DataFrame: what workers must know of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flinkish.common.output_tag import OutputTag
from flinkish.spark.calls.answers import COUNTS, COUNTS_COLUMN, OnError
from flinkish.spark.calls.encoder import AnswerEncoder
from flinkish.spark.calls.stamps import Stamped
from flinkish.spark.encoders import Encoder
from flinkish.spark.keyed.result_rows import METRICS
from flinkish.spark.tasks.plan import MAIN_COLUMN, TaskPlan, side_column

if TYPE_CHECKING:
    from flinkish.spark.calls.operator import AnswerOperator
    from flinkish.spark.calls.reports import ReportPlace

__all__ = ["AsyncPlan"]


@dataclass(frozen=True)
class AsyncPlan(TaskPlan):
    """A task of asynchronous calls.

    Its output is structs: the main output, failed rows if ``on_error`` is a tag (``sides`` has that
    one), and what was counted, once at the end of a task.  ``kept`` are the columns of ``output``
    that a failed row takes from its input.  With ``on_error="column"`` the last column of
    ``output`` is the error; with ``stamped`` its last columns are event time.  Tasks report to
    ``reports`` while they run, and give their counts to ``count`` when they end: see `JobScope`.
    """

    on_error: OnError | OutputTag = "fail"
    reports: ReportPlace | None = None
    kept: tuple[str, ...] = ()
    stamped: Stamped | None = None
    count: Callable[[dict[str, int]], None] | None = None

    @property
    def columns(self) -> pa.Schema:
        """The schema of the batches that the task gives to Spark."""
        structs = [pa.field(MAIN_COLUMN, pa.struct(list(self.output)))]
        structs += [
            pa.field(side_column(index), pa.struct(list(side.schema)))
            for index, side in enumerate(self.sides)
        ]
        return pa.schema([*structs, pa.field(COUNTS_COLUMN, COUNTS)])

    def watched(self, operator: Any, encoder: Any) -> AbstractContextManager[object]:
        """Report what operator and encoder count, if anybody watches."""
        calls: AnswerOperator = operator
        answers: AnswerEncoder = encoder

        def read() -> dict[str, int]:
            own = {f"{METRICS}.{name}": n for name, n in calls.own_counts().items()}
            return calls.counted() | answers.counted() | own

        if self.reports is None:
            return nullcontext() if self.count is None else self._counted(read, self.count)
        # Not for the many tasks that nobody watches.
        from flinkish.spark.calls.reports import IN_FLIGHT, Reporter
        from flinkish.spark.control_plane.attempts import current_attempt

        def read_now() -> dict[str, int]:
            return read() | {IN_FLIGHT: calls.statistics().in_flight}

        return Reporter(self.reports, current_attempt(self.name), read_now)

    @contextmanager
    def _counted(
        self, read: Callable[[], dict[str, int]], count: Callable[[dict[str, int]], None]
    ) -> Iterator[None]:
        """Give the counts to the job after a task without an error."""
        yield
        count({f"{self.name}.{name}": n for name, n in read().items()})

    def encoders(self) -> dict[OutputTag | None, Encoder]:
        """The encoder of answers: errors, too, come by the main output."""
        sides = [side.schema for side in self.sides]
        return {
            None: AnswerEncoder(
                f"the output of {self.name!r}",
                self.columns,
                self.output,
                self.output_type,
                "side" if isinstance(self.on_error, OutputTag) else self.on_error,
                sides[0] if sides else self.output,
                self.kept,
                self.time_zone,
                self.stamped,
            )
        }
