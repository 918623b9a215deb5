"""A job of three tasks through failures and kills: what comes out is as if there were none."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flinkish.task import FileSystemCheckpointStorage
from tests.task.pipeline import expected, newest, run
from tests.waiting import until


def test_a_job_that_nothing_happens_to(tmp_path: Path) -> None:
    assert run(tmp_path, 500) == []
    assert (tmp_path / "out.txt").read_text() == expected(500)


@pytest.mark.stress
def test_a_job_that_fails_goes_on_where_its_checkpoint_was(tmp_path: Path) -> None:
    """A failure cancels the other tasks; each output appears once, as the state knows it."""
    for fail_at in (700, 1_400, 1_401):
        (error,) = run(tmp_path, 2_000, fail_at)
        assert str(error) == f"failed at {fail_at}"
    reached = FileSystemCheckpointStorage(tmp_path / "checkpoints").load_latest()
    assert reached is not None
    assert 0 < int(reached.state["source"]) <= 1_401
    assert set(reached.state) == {"source", "count", "sink"}
    assert run(tmp_path, 2_000) == []
    assert (tmp_path / "out.txt").read_text() == expected(2_000)


@pytest.mark.stress
def test_a_job_that_is_killed_goes_on_where_its_checkpoint_was(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    no_end = 10**9
    command = [sys.executable, "-m", "tests.task.pipeline", str(tmp_path), str(no_end)]
    for _ in range(3):
        wanted = newest(tmp_path) + random.randint(1, 4)
        with subprocess.Popen(command, env=environment) as job:
            until(
                lambda job=job, wanted=wanted: newest(tmp_path) >= wanted or job.poll() is not None,
                seconds=180,
            )
            job.kill()
        assert job.returncode == -signal.SIGKILL
    reached = FileSystemCheckpointStorage(tmp_path / "checkpoints").load_latest()
    assert reached is not None
    end = int(reached.state["source"]) + 500
    assert run(tmp_path, end) == []
    assert (tmp_path / "out.txt").read_text() == expected(end)
