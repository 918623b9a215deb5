"""One task's run of a window operator whose windows take element by element."""

from __future__ import annotations

from pyspark import TaskContext

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.windows.elements.process import WindowedProcess
from flinkish.operators.window_engine import make_window_engine
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.output_pieces import FIRST_OUTPUTS

__all__ = ["WindowRun"]

_NO_PROCESSING_TIME = (
    "these windows serve no processing-time timers: Spark then runs a batch at every trigger, "
    "with or without data; ask for them with window(..., processing_time_timers=True)"
)


class WindowRun(OperatorRun):
    """Windows over the table of one key group after another."""

    engine: WindowedProcess

    def _open(self, context: TaskContext | None) -> None:
        plan = self._plan
        assert plan.window is not None
        timers = KeyedTimerService(
            self.table,
            refusal=None if plan.processing_time else _NO_PROCESSING_TIME,
            event_refusal=plan.no_event_time,
        )
        runtime_context = self._runtime_context(context, of_key=True)
        self.engine = make_window_engine(
            plan.window, self.backend, timers, runtime_context, names=plan.schema.names
        )
        self.engine.output_limit = FIRST_OUTPUTS
        self._functions.open(plan.window.functions, runtime_context)

    def _engine_counts(self) -> dict[str, int]:
        # Late rows are those that no window took.
        return super()._engine_counts() | {"late_rows": self.engine.unplaced}
