"""Tables of environments on the session of the tests."""

import pytest

from flinkish.datastream import StreamExecutionEnvironment
from flinkish.table import StreamTableEnvironment
from tests.spark.programs.conftest import batch, env, streaming

__all__ = ["batch", "env", "streaming"]


@pytest.fixture
def t_env(env: StreamExecutionEnvironment) -> StreamTableEnvironment:
    """Tables in both modes."""
    return StreamTableEnvironment.create(env)


@pytest.fixture
def t_streaming(streaming: StreamExecutionEnvironment) -> StreamTableEnvironment:
    """Tables in streaming mode alone."""
    return StreamTableEnvironment.create(streaming)


@pytest.fixture
def t_batch(batch: StreamExecutionEnvironment) -> StreamTableEnvironment:
    """Tables in batch mode alone."""
    return StreamTableEnvironment.create(batch)
