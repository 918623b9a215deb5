"""Modules of Spark that a program needs and the session lacks."""

from __future__ import annotations

import re

from pyspark import __version__

__all__ = ["coordinates_of", "missing_module", "module_needed"]

_MODULES = {"avro": "spark-avro_2.13", "kafka": "spark-sql-kafka-0-10_2.13"}
_MISSING = re.compile(
    r"\[(?P<name>AVRO|KAFKA)_(?:DATA_SOURCE_NOT_ENABLED|NOT_LOADED\w*)"
    r"|Failed to find data source: (?P<source>avro|kafka)\b"
)
# The releases of these modules on Maven Central that flinkish runs with.  It has none for Spark
# 4.3.0, with which 4.2.0 was run.
_RELEASES = ("4.1.2", "4.2.0")


def coordinates_of(name: str, spark: str = __version__) -> str:
    """The coordinates of a module, in the newest release on Maven Central for a Spark release."""
    fitting = [release for release in _RELEASES if _numbers(release) <= _numbers(spark)]
    return f"org.apache.spark:{_MODULES[name]}:{(fitting or _RELEASES)[-1 if fitting else 0]}"


def missing_module(text: str) -> str | None:
    """The advice for an error of Spark that says that a module is missing; else None."""
    found = _MISSING.search(text)
    return None if found is None else module_needed((found["name"] or found["source"]).lower())


def module_needed(name: str) -> str:
    """The advice for a missing module, in one line."""
    return (
        f"the session lacks Spark's {name}: set the key spark.jars.packages of the environment's "
        f"Configuration to {coordinates_of(name)} before the first job, which goes with Spark "
        f"{__version__}, or give its jars to env.add_jars(...)"
    )


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release)[:3])
