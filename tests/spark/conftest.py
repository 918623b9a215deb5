"""One Spark session for the room, whose workers import what the tests import."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.processes import python_path
from tests.spark.sessions import FILES, LOCAL, QUICK, QUICK_JAVA, session

HERE = Path(__file__).parent
PARTS = HERE / "parts"  # what needs no session

# Spark itself warns of its own use of pandas, and leaves sockets to the garbage collector.
QUIET = (
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and PARTS not in item.path.parents:
            item.add_marker(pytest.mark.spark)
            for warning in QUIET:
                item.add_marker(pytest.mark.filterwarnings(warning))


def worker_environment() -> dict[str, str]:
    """Variables with which Spark's Python workers import as this process does."""
    return {
        "PYTHONPATH": python_path(),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


@pytest.fixture(scope="session")
def environment(environment: dict[str, str]) -> dict[str, str]:
    """As everywhere, and Spark is quick where a program does not say otherwise."""
    settings = (f"-D{name}={value}" for name, value in QUICK.items() if "Java" not in name)
    return environment | {"SPARK_SUBMIT_OPTS": " ".join([QUICK_JAVA, *settings])}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores."""
    os.environ.update(worker_environment())
    sockets = {"spark.python.unix.domain.socket.enabled": "true", "spark.log.level": "OFF"}
    made = session(LOCAL, tmp_path_factory.mktemp("spark"), FILES | sockets)
    yield made
    made.stop()
