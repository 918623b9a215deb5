"""Modules of Spark that a program needs and the session lacks."""

from __future__ import annotations

import re

from pyspark import __version__

__all__ = ["missing_module"]

_MODULES = {"avro": "spark-avro_2.13", "kafka": "spark-sql-kafka-0-10_2.13"}
_MISSING = re.compile(
    r"\[(?P<name>AVRO|KAFKA)_(?:DATA_SOURCE_NOT_ENABLED|NOT_LOADED\w*)"
    r"|Failed to find data source: (?P<source>avro|kafka)\b"
)


def missing_module(text: str) -> str:
    """How to get the module that an error of Spark's asks for, as one more line; else nothing."""
    found = _MISSING.search(text)
    if found is None:
        return ""
    name = (found["name"] or found["source"]).lower()
    return (
        f"\nthe session lacks Spark's {name}: set the key spark.jars.packages of the environment's "
        f"Configuration to org.apache.spark:{_MODULES[name]}:{__version__} before the first job, "
        "or give its jars to env.add_jars(...)"
    )
