"""Functions of record batches in Spark, whose columns have the types that their DataFrame says.

Spark's settings decide in which Arrow types a worker gets its rows: with
``spark.sql.execution.arrow.useLargeVarTypes`` texts have offsets of 64 bits, timestamps have the
session's time zone.  Functions here were planned with `arrow_schema`, and get columns of it.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from flinkish.common.errors import SchemaMismatchError
from flinkish.spark.internals import arrow_schema
from flinkish.spark.worker_heap import Batches, MapBatches

__all__ = ["ColumnCast", "map_in_arrow"]


def map_in_arrow(frame: DataFrame, function: MapBatches, made: StructType | str) -> DataFrame:
    """The rows that a function makes of those of a DataFrame, which it gets in `arrow_schema`."""
    cast = ColumnCast(arrow_schema(frame.schema))

    def run(batches: Batches) -> Batches:
        return function(map(cast, batches))

    run.__name__ = function.__name__  # in Spark's plans
    return frame.mapInArrow(run, made)


class ColumnCast:
    """Makes batches of one schema of batches whose columns are in other types for the same values.

    The columns of a batch are compared once a schema, so batches of one stream cost a comparison.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._seen: pa.Schema | None = None
        self._differs = False

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows in the columns of the schema.

        SchemaMismatchError if a column is missing, or of values that are not those of its type.
        """
        if self._seen is None or not batch.schema.equals(self._seen):
            self._differs = self._compare(batch.schema)
            self._seen = batch.schema
        if not self._differs:
            return batch
        columns = [
            self._cast(column, field)
            for column, field in zip(batch.columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _compare(self, found: pa.Schema) -> bool:
        """Whether some columns are of other types than they have in the schema."""
        if found.names != self._schema.names:
            raise SchemaMismatchError(
                f"Spark gave a worker the columns {', '.join(found.names)}, and the plan has "
                f"{', '.join(self._schema.names)}: start the query again, and if it stays so, "
                "report it with df.explain()",
                value=found,
            )
        for given, field in zip(found, self._schema, strict=True):
            if not _same_values(given.type, field.type):
                raise SchemaMismatchError(
                    f"Spark gave a worker the column {field.name!r} as {given.type}, and the plan "
                    f"has {field.type}: set back what was changed of spark.sql.execution.arrow, or "
                    "cast the column in the DataFrame",
                    value=given.type,
                    schema=str(field.type),
                )
        return any(
            given.type != field.type for given, field in zip(found, self._schema, strict=True)
        )

    def _cast(self, column: pa.Array, field: pa.Field) -> pa.Array:
        if column.type == field.type:
            return column
        try:
            return column.cast(field.type)
        except pa.ArrowInvalid as error:
            raise SchemaMismatchError(
                f"the column {field.name!r} came as {column.type} and does not fit {field.type}: "
                f"{error}; with texts of more than 2 GiB in a batch set "
                "spark.sql.execution.arrow.maxBytesPerBatch to less",
                schema=str(field.type),
            ) from error


def _same_values(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether two types are for the same values, so that a cast keeps each as it is."""
    types = pa.types
    if types.is_dictionary(given):
        given = given.value_type
    if given == wanted:
        return True
    if types.is_timestamp(given) and types.is_timestamp(wanted):
        return (given.tz is None) == (wanted.tz is None)
    if types.is_decimal(given) and types.is_decimal(wanted):
        return (given.precision, given.scale) == (wanted.precision, wanted.scale)
    if _is_list(given) and _is_list(wanted):
        return _same_values(given.value_type, wanted.value_type)
    if types.is_map(given) and types.is_map(wanted):
        return _same_values(given.key_type, wanted.key_type) and _same_values(
            given.item_type, wanted.item_type
        )
    if types.is_struct(given) and types.is_struct(wanted):
        fields = list(given), list(wanted)
        return [field.name for field in fields[0]] == [field.name for field in fields[1]] and all(
            _same_values(one.type, other.type) for one, other in zip(*fields, strict=True)
        )
    return any(is_such(given) and is_such(wanted) for is_such in (_is_text, _is_binary))


def _is_text(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    )


def _is_binary(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_)
    )


def _is_list(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_)
    )
