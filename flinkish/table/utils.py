"""PyFlink's module of conversions, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "arrow_to_pandas pandas_to_arrow pickled_bytes_to_python_converter to_expression_jarray "
    "tz_convert_from_internal tz_convert_to_internal",
    "Table.to_pandas() gives a DataFrame, and TableEnvironment.from_pandas takes one",
)

__all__: list[str] = []
