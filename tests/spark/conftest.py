"""One Spark session for the room, whose workers import what the tests import."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.processes import python_path
from tests.spark.sessions import LOCAL, QUICK, session

HERE = Path(__file__).parent

# Spark itself warns of its own use of pandas, and leaves sockets to the garbage collector.
QUIET = (
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.name not in WITHOUT_SPARK:
            item.add_marker(pytest.mark.spark)
            for warning in QUIET:
                item.add_marker(pytest.mark.filterwarnings(warning))


WITHOUT_SPARK = (
    "test_aimd.py",
    "test_lease.py",
    "test_ledger.py",
    "test_ledger_bytecode.py",
    "test_ledger_identity.py",
    "test_ledger_layer.py",
    "test_limiter.py",
    "test_limits_hold.py",
    "test_permit_ledger.py",
    "test_permits_endpoint.py",
    "test_rate.py",
    "test_plane_ledger.py",
    "test_plane_rpc.py",
    "test_plane_failures.py",
    "test_plane_runs.py",
    "test_source_run.py",
    "test_group_state.py",
    "test_checkpoint_formats.py",
    "test_checkpoint_settings.py",
    "test_processor.py",
    "test_state_tables.py",
    "test_table_files.py",
    "test_async_operator.py",
    "test_async_task.py",
    "test_task_input.py",
    "test_two_input_run.py",
    "test_task_output.py",
    "test_spark_task.py",
)


def worker_environment() -> dict[str, str]:
    """Variables with which Spark's Python workers import as this process does."""
    return {
        "PYTHONPATH": python_path(),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


@pytest.fixture(scope="session")
def environment(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """As everywhere, and Spark is quick where a program does not say otherwise."""
    folder = tmp_path_factory.mktemp("spark-conf")
    lines = [f"{name} {value}\n" for name, value in QUICK.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    return environment | {"SPARK_CONF_DIR": str(folder)}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores."""
    os.environ.update(worker_environment())
    sockets = {"spark.python.unix.domain.socket.enabled": "true", "spark.log.level": "OFF"}
    made = session(LOCAL, tmp_path_factory.mktemp("spark"), sockets)
    yield made
    made.stop()
