"""Functions of record batches in Spark that get columns in the types of their DataFrame.

Spark's settings decide in which Arrow types a worker gets its rows: with
``spark.sql.execution.arrow.useLargeVarTypes`` texts have offsets of 64 bits, timestamps have the
session's time zone.  Functions here are planned with `arrow_schema`, and get columns cast to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from flinkish.common.errors import SchemaMismatchError
from flinkish.spark.internals import arrow_schema
from flinkish.spark.worker_heap import Batches, MapBatches

__all__ = ["ColumnCast", "map_in_arrow"]


def map_in_arrow(frame: DataFrame, function: MapBatches, made: StructType | str) -> DataFrame:
    """The rows that a function makes from a DataFrame's rows, which it gets in `arrow_schema`."""
    cast = ColumnCast(frame.schema.names, [_arrow_type(field) for field in frame.schema.fields])

    def run(batches: Batches) -> Batches:
        return function(map(cast, batches))

    run.__name__ = function.__name__  # in Spark's plans
    return frame.mapInArrow(run, made)


def _arrow_type(field: StructField) -> pa.DataType | None:
    """The Arrow type of a column; None for a type that only Spark's JVM knows."""
    try:
        return arrow_schema(StructType([field])).field(0).type
    except PySparkException:
        return None


class ColumnCast:
    """Casts the columns of batches, which have these names, to types for the same values.

    A column of the type None stays as it is.  Columns are compared once per schema, so each further
    batch of a stream costs only a comparison of schemas.
    """

    def __init__(self, names: Sequence[str], types: Sequence[pa.DataType | None]) -> None:
        self._names = list(names)
        self._types = [None if type_ is None else _nullable(type_) for type_ in types]
        self._seen: pa.Schema | None = None
        self._differs = False

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows in columns of the types.

        SchemaMismatchError if a column is missing, or has values that its type cannot hold.
        """
        if self._seen is None or not batch.schema.equals(self._seen):
            self._differs = self._compare(batch.schema)
            self._seen = batch.schema
        if not self._differs:
            return batch
        columns = [
            self._cast(name, column, type_)
            for name, column, type_ in zip(self._names, batch.columns, self._types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, self._names)

    def _compare(self, found: pa.Schema) -> bool:
        """Whether some columns do not have the types that they need."""
        if found.names != self._names:
            raise SchemaMismatchError(
                f"Spark gave a worker the columns {', '.join(found.names)}, and the plan has "
                f"{', '.join(self._names)}: start the query again, and if it stays so, report it "
                "with df.explain()",
                value=found,
            )
        differs = False
        for given, type_ in zip(found, self._types, strict=True):
            if type_ is None or _nullable(given.type) == type_:
                continue
            differs = True
            if not _same_values(given.type, type_):
                raise SchemaMismatchError(
                    f"Spark gave a worker the column {given.name!r} as {given.type}, and the plan "
                    f"has {type_}: undo changes of spark.sql.execution.arrow settings, or "
                    "cast the column in the DataFrame",
                    value=given.type,
                    schema=str(type_),
                )
        return differs

    @staticmethod
    def _cast(name: str, column: pa.Array, type_: pa.DataType | None) -> pa.Array:
        if type_ is None or column.type == type_:
            return column
        try:
            return column.cast(type_)
        except pa.ArrowInvalid as error:
            raise SchemaMismatchError(
                f"the column {name!r} came as {column.type} and does not fit {type_}: {error}; "
                "with texts of more than 2 GiB in a batch set "
                "spark.sql.execution.arrow.maxBytesPerBatch to less",
                schema=str(type_),
            ) from error


def _nullable(type_: pa.DataType) -> pa.DataType:
    """The type with nullable parts, since the parts of a null struct are null."""

    def part(field: pa.Field) -> pa.Field:
        return field.with_type(_nullable(field.type)).with_nullable(True)

    if pa.types.is_struct(type_):
        return pa.struct([part(field) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(part(type_.value_field))
    if pa.types.is_large_list(type_):
        return pa.large_list(part(type_.value_field))
    if pa.types.is_map(type_):
        return pa.map_(_nullable(type_.key_type), part(type_.item_field))
    return type_


def _same_values(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether two types have the same values, so that a cast changes none."""
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
