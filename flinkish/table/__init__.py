"""PyFlink's tables in programs of streams: SQL over streams, which Spark runs.

Owns: environments of tables, statements, schemas and types of columns, connectors of tables.
Uses: ``environment``, whose graph tables are part of, and ``spark``, when SQL is given.
Must not: load pyspark before that, nor run SQL itself.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.table.changelog_mode import ChangelogMode
    from flinkish.table.environment_settings import EnvironmentSettings
    from flinkish.table.expression import Expression
    from flinkish.table.result_kind import ResultKind
    from flinkish.table.schema import Schema
    from flinkish.table.statement_set import StatementSet
    from flinkish.table.table import Table
    from flinkish.table.table_config import TableConfig
    from flinkish.table.table_descriptor import FormatDescriptor, TableDescriptor
    from flinkish.table.table_environment import StreamTableEnvironment, TableEnvironment
    from flinkish.table.table_result import TableResult
    from flinkish.table.table_schema import TableSchema
    from flinkish.table.types import DataTypes, Row, RowKind
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.table.changelog_mode": ("ChangelogMode",),
            "flinkish.table.environment_settings": ("EnvironmentSettings",),
            "flinkish.table.expression": ("Expression",),
            "flinkish.table.result_kind": ("ResultKind",),
            "flinkish.table.schema": ("Schema",),
            "flinkish.table.statement_set": ("StatementSet",),
            "flinkish.table.table": ("Table",),
            "flinkish.table.table_config": ("TableConfig",),
            "flinkish.table.table_descriptor": ("FormatDescriptor", "TableDescriptor"),
            "flinkish.table.table_environment": ("StreamTableEnvironment", "TableEnvironment"),
            "flinkish.table.table_result": ("TableResult",),
            "flinkish.table.table_schema": ("TableSchema",),
            "flinkish.table.types": ("DataTypes", "Row", "RowKind"),
        },
    )

__all__ = [
    "ChangelogMode",
    "DataTypes",
    "EnvironmentSettings",
    "Expression",
    "FormatDescriptor",
    "ResultKind",
    "Row",
    "RowKind",
    "Schema",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableResult",
    "TableSchema",
]
