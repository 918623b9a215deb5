"""An environment on the session of the tests, in either mode."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.datastream import RuntimeExecutionMode, StreamExecutionEnvironment


@pytest.fixture(params=[RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def env(spark: SparkSession, request: Any) -> StreamExecutionEnvironment:
    """Both modes over bounded sources."""
    found = StreamExecutionEnvironment.get_execution_environment()
    return found.set_runtime_mode(request.param).set_parallelism(2)


@pytest.fixture
def streaming(spark: SparkSession) -> StreamExecutionEnvironment:
    """Streaming mode alone."""
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def batch(spark: SparkSession) -> StreamExecutionEnvironment:
    """Batch mode alone."""
    found = StreamExecutionEnvironment.get_execution_environment()
    return found.set_runtime_mode(RuntimeExecutionMode.BATCH).set_parallelism(2)
