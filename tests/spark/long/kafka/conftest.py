"""One broker for the room: a test makes topics that no other has."""

from collections.abc import Iterator

import pytest

from examples.realtime.broker import Broker
from tests.spark.sessions import JAVA


@pytest.fixture(scope="package")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker without topics."""
    broker = Broker(tmp_path_factory.mktemp("kafka"), JAVA.split())
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()
