"""PyFlink's tables in programs of streams: SQL over streams, which Spark runs.

Owns: environments of tables, statements, schemas and types of columns, connectors of tables.
Uses: ``environment``, whose graph tables are part of, and ``spark``, when SQL is given.
Must not: load pyspark before that, nor run SQL itself.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.table.changelog_mode import ChangelogMode
    from flinkish.table.data_view import DataView, ListView, MapView
    from flinkish.table.environment_settings import EnvironmentSettings
    from flinkish.table.explain_detail import ExplainDetail
    from flinkish.table.expression import Expression
    from flinkish.table.result_kind import ResultKind
    from flinkish.table.schema import Schema
    from flinkish.table.sql_dialect import SqlDialect
    from flinkish.table.statement_set import StatementSet
    from flinkish.table.table import (
        GroupedTable,
        GroupWindowedTable,
        OverWindowedTable,
        Table,
        WindowGroupedTable,
    )
    from flinkish.table.table_config import TableConfig
    from flinkish.table.table_descriptor import FormatDescriptor, TableDescriptor
    from flinkish.table.table_environment import StreamTableEnvironment, TableEnvironment
    from flinkish.table.table_pipeline import TablePipeline
    from flinkish.table.table_result import TableResult
    from flinkish.table.table_schema import TableSchema
    from flinkish.table.types import DataTypes, Row, RowKind
    from flinkish.table.udf import (
        AggregateFunction,
        AsyncScalarFunction,
        FunctionContext,
        ScalarFunction,
        TableAggregateFunction,
        TableFunction,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.table.changelog_mode": ("ChangelogMode",),
            "flinkish.table.data_view": ("DataView", "ListView", "MapView"),
            "flinkish.table.explain_detail": ("ExplainDetail",),
            "flinkish.table.environment_settings": ("EnvironmentSettings",),
            "flinkish.table.expression": ("Expression",),
            "flinkish.table.result_kind": ("ResultKind",),
            "flinkish.table.schema": ("Schema",),
            "flinkish.table.statement_set": ("StatementSet",),
            "flinkish.table.sql_dialect": ("SqlDialect",),
            "flinkish.table.table": (
                "GroupWindowedTable",
                "GroupedTable",
                "OverWindowedTable",
                "Table",
                "WindowGroupedTable",
            ),
            "flinkish.table.table_pipeline": ("TablePipeline",),
            "flinkish.table.table_config": ("TableConfig",),
            "flinkish.table.table_descriptor": ("FormatDescriptor", "TableDescriptor"),
            "flinkish.table.table_environment": ("StreamTableEnvironment", "TableEnvironment"),
            "flinkish.table.table_result": ("TableResult",),
            "flinkish.table.table_schema": ("TableSchema",),
            "flinkish.table.types": ("DataTypes", "Row", "RowKind"),
            "flinkish.table.udf": (
                "AggregateFunction",
                "AsyncScalarFunction",
                "FunctionContext",
                "ScalarFunction",
                "TableAggregateFunction",
                "TableFunction",
            ),
        },
        refused={
            "flinkish.table.compiled_plan": "CompiledPlan",
            "flinkish.table.module": "Module ModuleEntry",
            "flinkish.table.plan_reference": "PlanReference",
            "flinkish.table.types": "UserDefinedType",
        },
    )

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "OverWindowedTable",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "WindowGroupedTable",
]
