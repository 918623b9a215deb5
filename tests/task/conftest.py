"""A coordinator with stand-ins for its tasks; see ``bench.py``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.task.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Any]:
    """Makes a `Bench` with the settings it is called with; all are shut down in the end."""
    made: list[Bench] = []

    def make(**settings: Any) -> Bench:
        made.append(Bench(tmp_path, **settings))
        return made[-1]

    yield make
    for one in made:
        one.coordinator.shutdown()
