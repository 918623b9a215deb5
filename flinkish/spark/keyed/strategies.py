"""How the rows of an operator travel, and how they are handed over.

A plan carries one of these.  Each loads what it needs where it is used: a worker that only packs
rows needs no engine, and one that runs has the engine of its own operator alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from flinkish.spark.keyed.packing import PACKED_SCHEMA, PackRows, pack_table, packer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from flinkish._core.state.table import StateTable
    from flinkish.spark.keyed.operator_run import OperatorRun
    from flinkish.spark.keyed.plan import OperatorPlan
    from flinkish.spark.mapped_frame import MapBatches, MappedFrame

__all__ = ["ByColumns", "ByRows", "TwoInputs"]


def _packer(plan: OperatorPlan, pack_rows: PackRows = pack_table, number: int = 1) -> MapBatches:
    """The function for `mapInArrow` that packs the rows of input 1 or 2 of an operator."""
    if plan.real_time:
        from flinkish.spark.real_time.packing import real_time_packer

        return real_time_packer(plan.without_functions(), pack_rows, number)
    return packer(plan.without_functions(), pack_rows, number)


class ByRows:
    """The rows of one input, element by element."""

    shares_payloads: ClassVar[bool] = True

    def packed(
        self, plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None
    ) -> DataFrame:
        """The rows as payloads of key groups, or of partitions."""
        if plan.real_time:
            from flinkish.spark.real_time.partition_rows import pack_partitions

            return rows.map(_packer(plan, pack_partitions), PACKED_SCHEMA).frame
        return rows.map(_packer(plan), PACKED_SCHEMA).frame

    def run_batch(
        self, plan: OperatorPlan, frame: DataFrame, second: DataFrame | None
    ) -> DataFrame:
        """Key after key."""
        from flinkish.spark.keyed.batch import run_rows

        return run_rows(frame, plan)

    def open_run(
        self, plan: OperatorPlan, table: StateTable | None = None, subtask: int | None = None
    ) -> OperatorRun:
        """A run that makes Python objects of rows."""
        from flinkish.spark.keyed.operator_run import OperatorRun

        return OperatorRun(plan, table, subtask)


class ByColumns:
    """Whole columns, for windows of built-in aggregates."""

    shares_payloads: ClassVar[bool] = False

    def packed(
        self, plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None
    ) -> DataFrame:
        """The columns that are read, or records of panes, as payloads of key groups."""
        from flinkish.spark.keyed.columns.packing import pack_rows_of, unread_columns

        unread = unread_columns(rows.schema.names, plan)
        pack = _packer(plan, pack_rows_of(plan))
        return rows.drop(*unread).map(pack, PACKED_SCHEMA).frame

    def run_batch(
        self, plan: OperatorPlan, frame: DataFrame, second: DataFrame | None
    ) -> DataFrame:
        """The keys of a record batch at a time."""
        from flinkish.spark.keyed.columns.batch import run_windows
        from flinkish.spark.keyed.columns.packing import unread_columns

        return run_windows(frame.drop(*unread_columns(frame.columns, plan)), plan)

    def open_run(
        self, plan: OperatorPlan, table: StateTable | None = None, subtask: int | None = None
    ) -> OperatorRun:
        """A run that makes no Python object of a row."""
        from flinkish.spark.keyed.columns.run import VectorRun

        return VectorRun(plan, table, subtask)


class TwoInputs:
    """The rows of two inputs, element by element."""

    shares_payloads: ClassVar[bool] = False

    def packed(
        self, plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None
    ) -> DataFrame:
        """The rows of both as payloads of key groups, each with the number of its input.

        In real-time mode Spark finds the shuffle of an operator that made the rows of an input by
        the number of the task, so this one is the first part of the union.
        """
        from flinkish.spark.keyed.two_inputs import pack_rows_of_input

        assert plan.second is not None
        assert second is not None
        # Spark's watermark of a union is the lower of both, like Flink's.
        first, other = (
            frame.map(_packer(one, pack_rows_of_input(one, number), number), PACKED_SCHEMA).frame
            for number, (frame, one) in enumerate(((rows, plan), (second, plan.second)), 1)
        )
        if plan.real_time and plan.second.chained:
            first, other = other, first
        return first.union(other)

    def run_batch(
        self, plan: OperatorPlan, frame: DataFrame, second: DataFrame | None
    ) -> DataFrame:
        """Key after key, the rows of both by time."""
        from flinkish.spark.keyed.batch import run_both

        assert second is not None
        return run_both(frame, second, plan)

    def open_run(
        self, plan: OperatorPlan, table: StateTable | None = None, subtask: int | None = None
    ) -> OperatorRun:
        """A run that merges two inputs."""
        from flinkish.spark.keyed.two_inputs import TwoInputRun

        return TwoInputRun(plan, table, subtask)
