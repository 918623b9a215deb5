"""What several tests of parts need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flinkish.spark.real_time import run as real_time_run
from flinkish.spark.versions.batch import Batch
from tests.spark.parts.live_task import RUN


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Says which batch the tasks are of, and whether their input ends whole."""

    def say(number: int, parent: int | None, *, run: str = RUN, whole: bool = True) -> None:
        def current(checkpoint: str | None, tag: int | None = None) -> Batch:
            assert tag is not None
            return Batch(str(tmp_path), run, number, tag, parent, 0, 0, 100)

        monkeypatch.setattr(real_time_run, "current_batch", current)
        monkeypatch.setattr(real_time_run, "input_is_whole", lambda: whole)

    return say
