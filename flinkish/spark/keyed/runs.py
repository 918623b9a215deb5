"""Which run an operator's plan asks for."""

from __future__ import annotations

from flinkish._core.state.table import StateTable
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.plan import OperatorPlan

__all__ = ["open_run"]


def open_run(plan: OperatorPlan, table: StateTable | None = None) -> OperatorRun:
    """The run of a plan in this task, its functions opened.

    Each run has engines of its own, so a worker loads only the one that its plan asks for.
    """
    if plan.vector is not None:
        from flinkish.spark.keyed.columns.run import VectorRun

        return VectorRun(plan, table)
    if plan.window is not None:
        from flinkish.spark.keyed.window_run import WindowRun

        return WindowRun(plan, table)
    if plan.second is not None:
        from flinkish.spark.keyed.two_inputs import TwoInputRun

        return TwoInputRun(plan, table)
    return OperatorRun(plan, table)
