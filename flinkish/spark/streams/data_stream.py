"""DataFrames as streams with Flink's operators: what users begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from pyspark.sql.types import StructType

from flinkish.common.ddl import type_from_ddl
from flinkish.common.errors import (
    ArgumentTypeError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.common.watermark_strategy import WatermarkStrategy
from flinkish.functions import KeyedProcessFunction
from flinkish.operators.definition import function_name
from flinkish.operators.process_definitions import ProcessDefinition
from flinkish.spark.channels import OF_OPERATOR
from flinkish.spark.function_checks import check_function
from flinkish.spark.keyed.plan import EVENT_TIME, MAIN, OperatorPlan
from flinkish.spark.keyed.strategies import ByRows
from flinkish.spark.mapped_frame import MappedFrame, run_to_end
from flinkish.spark.schemas import (
    check_names,
    check_type,
    names_of_outputs,
    output_schema,
)
from flinkish.spark.streams.assigned_times import with_event_time
from flinkish.spark.streams.broadcast import BroadcastConnectedStream, BroadcastStream, connect
from flinkish.spark.streams.chosen_keys import chosen_keys, no_key
from flinkish.spark.streams.connected import ConnectedStreams, IntervalJoin, KeyedConnectedStreams
from flinkish.spark.streams.described import Explained, columns_of, details_of
from flinkish.spark.streams.element_wise import ElementWise
from flinkish.spark.streams.given import check_frame, check_process_function
from flinkish.spark.streams.keyed_functions import KeyedFunctions
from flinkish.spark.streams.operator_results import (
    OperatorResults,
    run_operator,
)
from flinkish.spark.streams.options import (
    KeyedOptions,
    OperatorOptions,
    joined_plans,
    output_settings,
    plan_settings,
)
from flinkish.spark.streams.porting import PortingHints
from flinkish.spark.streams.rows import KeyedRows, Output, StreamRows
from flinkish.spark.streams.windowed import Declared, WindowedStream
from flinkish.state.descriptors import MapStateDescriptor
from flinkish.windowing import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    WindowAssigner,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["DataStream", "KeyedStream", "ProcessedStream"]


class DataStream(ElementWise, Explained, PortingHints):
    """A DataFrame, streaming or batch, seen as a stream.

    Functions get each row as a `flinkish.common.Row` with the column names as field names;
    timestamps are datetimes, aware in UTC (naive for timestamp_ntz).  With ``type_info`` they get
    what that type says, as in PyFlink, for instance tuples or single values.  The output of an
    operator has elements of its declared ``output_type``, if that is a type and not DDL.
    """

    def __init__(self, frame: DataFrame, type_info: TypeInformation | None = None) -> None:
        check_frame(frame)
        check_names(frame)
        check_type(frame, type_info)
        self._rows = StreamRows(MappedFrame(frame), tuple(frame.columns), type_info)

    @staticmethod
    def _of(rows: StreamRows) -> DataStream:
        made = DataStream.__new__(DataStream)
        made._rows = rows
        return made

    def get_type(self) -> TypeInformation:
        """The type of the elements: of Rows without a declared one, that of their columns."""
        kind = self._rows.kind
        return type_from_ddl(self._rows.schema.simpleString()) if kind is None else kind

    def assign_timestamps_and_watermarks(
        self,
        watermark_strategy: WatermarkStrategy,
        *,
        column: str | None = None,
        partition: str | None = None,
    ) -> DataStream:
        """The stream with event time: from a timestamp column, or from the strategy's assigner.

        With neither, elements keep the timestamps that they have.

        The watermark is Spark's, which moves between batches: batch N sees that of the data
        before it.  It is one millisecond less than Spark shows, since Flink's watermark t says
        that nothing at t follows.  Late rows are not dropped; functions see them, as in Flink.

        Operators whose state is versioned by batch have watermarks of their own: one a stream that
        was given a strategy, or one for each value of the column ``partition`` that has had rows,
        such as Kafka's.  The least counts, of those that are not idle.

        Raises UnknownColumnError, TimestampError for a column of another type, and
        IllegalArgumentError when column and assigner are both given, or neither;
        UnsupportedOperationError after an operator of a streaming DataFrame, whose outputs have
        timestamps and a watermark already: Spark knows one watermark a source.
        """
        name = self._uid or "assign_timestamps_and_watermarks"
        return self._of(with_event_time(self._rows, watermark_strategy, column, partition, name))

    def key_by(
        self,
        *keys: Any,
        key_type: TypeInformation | None = None,
        widened_from: str | Mapping[str, str] | None = None,
    ) -> KeyedStream:
        """The stream partitioned by key: by columns, or by one function of the row.

        Names mean what they mean to Spark, with backticks and `spark.sql.caseSensitive`.  One
        column gives its value as the key, several give a tuple.  A function (or PyFlink's
        KeySelector) may return bool, int, float, str, bytes, date, datetime, Decimal or tuples
        of them; of ``key_type``, second by place as in PyFlink, if that is given.  Ints without
        one hash by their size, as Flink's INT or LONG.

        ``widened_from`` is for a column that became bigint while a checkpoint has state of its
        keys as int: its type before, or names to types (docs/guides/upgrading.md).
        """
        chosen = chosen_keys(self._rows.in_columns(), keys, widened_from, key_type)
        return KeyedStream(KeyedRows(self._rows, chosen))

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    def connect(self, ds: Any) -> Any:
        """This stream and another one for one function.

        With a DataStream `ConnectedStreams`, whose `key_by` gives both keys; with one that was
        `broadcast`, which reaches every task, a `BroadcastConnectedStream`.
        """
        return connect(self, ds)

    def broadcast(self, *descriptors: MapStateDescriptor) -> BroadcastStream:
        """The stream for every key, or every task, of the one that `connect` is then called on."""
        return BroadcastStream(self, descriptors)

    def window_all(
        self, window_assigner: WindowAssigner, **options: Unpack[KeyedOptions]
    ) -> WindowedStream:
        """All elements in windows, without keys: one task does the work.

        Options as for `KeyedStream.window`.
        """
        options.setdefault("max_parallelism", 1)
        one = KeyedStream(KeyedRows(self._rows, chosen_keys(self._rows.in_columns(), (no_key,))))
        windowed = one.window(window_assigner, **options)
        windowed.keyed = False
        return windowed

    def to_df(self) -> DataFrame:
        """The rows as a DataFrame."""
        return self._rows.to_df()


class KeyedStream(KeyedFunctions, PortingHints):
    """A stream whose rows are handled key by key."""

    def __init__(self, keyed: KeyedRows) -> None:
        self._keyed = keyed
        self._rows = keyed.rows

    def __repr__(self) -> str:
        keys = ", ".join(self._keyed.keys.columns) or self._keyed.keys.described
        return f"KeyedStream{columns_of(self._rows.in_columns())} by {keys}"

    def process(
        self,
        function: KeyedProcessFunction,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """Run a keyed process function.

        Args:
            function: the function; sent to the workers, opened there once for each task and batch.
            output_type: PyFlink's name for ``schema``; give one of the two.
            schema: columns of the main output, as DDL or StructType: elements are then Rows; or a
                type of `Types`, which they have.  Without one elements are any objects, which
                travel as pickles.

        Options, by keyword, here and for the other operators of keyed streams:

        - ``uid``: name of the operator, for messages and statistics; by default its class and
          place. The checkpoint remembers one that is given, and refuses an operator with another.
        - ``max_parallelism``: number of key groups, in which state is kept and moved, and the most
          tasks that can share the work. It cannot be changed for a checkpoint. By default the power
          of two at or above twice `spark.sql.shuffle.partitions`, at least 16 and at most 1024:
          each group costs every batch that touches it some milliseconds.
        - ``order``: "arrival" hands the rows of a batch over as they come, as Flink does;
          "timestamp" sorts each key group's rows of a batch by event time first (ties keep their
          order).
        - ``processing_time_timers``: serve them. Spark then runs a batch at every trigger, whether
          there is data or not.
        - ``null_keys``: what becomes of rows without a key: "fail", "drop" (counted), or an
          OutputTag that gets them as a side output.
        - ``job_parameters``: for `runtime_context.get_job_parameter`.
        - ``state``: how state is kept; see StateSettings.
        - ``control_plane``: a `ControlPlane`, which then knows who runs which partition and what
          the operator has counted so far, and can cancel or drain it.
        """
        return self._run(function, schema if schema is not None else output_type, options)

    def _run(
        self, function: KeyedProcessFunction, declared: Declared | Output, options: KeyedOptions
    ) -> ProcessedStream:
        check_process_function(function)
        asked = OperatorOptions.of("process", options)
        kind = function_name(function)
        check_function(function, f"the function {kind}", restarts=self._keyed.rows.restarts)
        name, settings = plan_settings(self._keyed, kind, asked)
        output, written = output_settings(declared, name)
        operator = ProcessDefinition(function)
        plan = OperatorPlan(operator=operator, strategy=ByRows(), **written, **settings)
        return self._processed(plan, output, "a keyed process function sees each row")

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    @overload
    def connect(self, ds: KeyedStream) -> KeyedConnectedStreams: ...

    def connect(self, ds: Any) -> Any:
        """This stream and another one for one function.

        A keyed one shares the state of a key (`KeyedConnectedStreams`); one that was `broadcast`
        reaches every key (`BroadcastConnectedStream`).
        """
        return connect(self, ds)

    def interval_join(self, other: KeyedStream) -> IntervalJoin:
        """Pairs of this stream and another one with equal keys, near one another in event time."""
        return IntervalJoin(self, other)

    def window(
        self,
        window_assigner: WindowAssigner,
        **options: Unpack[KeyedOptions],
    ) -> WindowedStream:
        """The stream with the elements of each key in windows; see `WindowedStream`.

        The options are those of `process`.  Timers on processing time are served where the
        assigner or a built-in trigger follows the clock; ``processing_time_timers`` says it for a
        trigger of your own.
        """
        return WindowedStream(self, window_assigner, OperatorOptions.of("window", options))

    def count_window(
        self, size: int, slide: int = 0, **options: Unpack[KeyedOptions]
    ) -> WindowedStream:
        """Windows of ``size`` elements of a key, one every ``slide`` (0: every ``size``).

        Options as for `window`.
        """
        if slide == 0:
            return self.window(CountTumblingWindowAssigner(size), **options)
        return self.window(CountSlidingWindowAssigner(size, slide), **options)

    def _processed(
        self, plan: OperatorPlan, output: Output, path: str, second: KeyedStream | None = None
    ) -> ProcessedStream:
        """The outputs of an operator over this stream, and maybe a second one; see `explain`."""
        rows = [one._rows for one in (self, second) if one is not None]
        within = rows[0].within
        plans = {} if within is not None else joined_plans(plan, rows)
        results = run_operator(plan, rows[0].mapped, *(one.apart() for one in rows[1:]))
        watermark = "; ".join(dict.fromkeys(one.watermark for one in rows if one.watermark)) or None
        paths = {path: details for one in rows for path, details in one.paths.items()}
        paths[f"{plan.uid}: {path}"] = details_of(plan, watermark, rows[0].partitions)
        made = StreamRows(
            results.output(MAIN, output.schema),
            tuple(output.schema.names),
            output.kind,
            EVENT_TIME,
            operators=1 + max(one.operators for one in rows),
            watermark=watermark,
            channels=(OF_OPERATOR,) if plan.is_versioned else (),
            marked=plan.is_versioned,
            watermark_lost=plan.loses_watermark,
            paths=paths,
            plans=plans,
            within=within,
            job=rows[0].job,
        )
        return ProcessedStream(made, results, output)


class ProcessedStream(DataStream):
    """The outputs of a keyed operator; as a stream, the main one."""

    def __init__(self, rows: StreamRows, results: OperatorResults, output: Output) -> None:
        self._rows = rows
        self._results = results
        self._output = output

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The stream of a side output, whose columns are those of the tag's type.

        Spark runs every query on its own: a query on this stream runs the whole operator, with
        state of its own.  To take several outputs from one run use `all_outputs` or
        `foreach_batch`.
        """
        schema = _tag_schema(output_tag)
        mapped = self._results.output(output_tag.tag_id, schema)
        kind = output_tag.type_info
        return self._of(replace(self._rows, mapped=mapped, columns=tuple(schema.names), kind=kind))

    def all_outputs(self, *side_outputs: OutputTag) -> DataFrame:
        """The main output and these side outputs as one DataFrame, all from one run.

        Each is a struct in a column: ``main``, and one by the id of each tag.  Each row is of one
        output, and null in the columns of the others.

        IllegalArgumentError for two outputs of one name, UnsupportedOperationError for elements of
        no declared type.
        """
        self._rows.check_columns()
        schemas = {MAIN: self._output.schema}
        for tag in side_outputs:
            schema = _tag_schema(tag)
            schemas[tag.tag_id] = schema
        names = names_of_outputs(side_outputs)
        mapped = self._results.outputs(dict(zip(names, schemas.items(), strict=True)))
        return replace(self._rows, mapped=mapped, columns=names, kind=None).to_df()

    def foreach_batch(
        self, write: Callable[..., None], *side_outputs: OutputTag
    ) -> DataStreamWriter:
        """A writer that calls `write(batch_id, main, *sides)` for each micro-batch.

        All outputs come from one run of the operator: `main` and `sides` (in the order of the
        tags) are batch DataFrames of the micro-batch.  The operator, and all before it, has run to
        its end when `write` is called, so `write` may do anything with them: no action, several
        actions, a `limit`, a `coalesce`, on several threads.  They are valid until `write` returns.
        As with Spark's foreachBatch a batch may be written again after a failure, under the same
        batch id.
        """
        # Under Spark Connect the function travels to the server, where no stream can follow.
        self._rows.check_columns()
        outputs = {MAIN: self._output.schema}
        outputs |= {tag.tag_id: _tag_schema(tag) for tag in side_outputs}
        results, split = self._results.in_batches(outputs)

        def run_and_write(frame: DataFrame, batch_id: int) -> None:
            frame.persist()
            try:
                run_to_end(frame)
                write(batch_id, *split(frame))
            finally:
                frame.unpersist()

        return results.writeStream.foreachBatch(run_and_write)

    def statistics(self, query: StreamingQuery | None = None) -> dict[str, int]:
        """The operator's counters and gauges, by name.

        Counters are rows, late_rows, null_keys, timers_registered, timers_deleted, timers_fired,
        table_misses, tables_in_memory, compactions, checkpoint_bytes, groups_dropped, and
        ``metrics.n`` for a counter ``n`` of the function.  Gauges, of a stream alone, are
        key_groups, keys, event_timers, processing_timers, log_bytes and table_bytes: of all key
        groups, as of the last batch with rows that asked them; before it they are missing.

        Counters of a stream are summed as `flinkish.spark.statistics` says; for a batch DataFrame
        they are of its first action, for which this waits.
        """
        return self._results.statistics(query)


def _tag_schema(tag: OutputTag) -> StructType:
    if not isinstance(tag, OutputTag):
        raise ArgumentTypeError(f"a side output is named by its OutputTag, not by {tag!r}")
    return output_schema(tag.type_info, f"the type of {tag!r}")
