"""flinkish: Flink's operator runtime for PySpark."""

__version__ = "0.1.0"
