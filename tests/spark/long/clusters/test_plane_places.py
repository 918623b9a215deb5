"""The control plane where workers are not the driver's: clusters, and Spark Connect."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.processes import ran
from tests.spark.conftest import worker_environment
from tests.spark.long.clusters.daemons import standalone
from tests.spark.long.clusters.plane_speculation import PARTITIONS, ROWS
from tests.spark.long.clusters.plane_zombie import BATCHES, KEYS
from tests.spark.support import by_key


@contextmanager
def local_cluster(work: Path) -> Iterator[str]:
    """Its executors are processes of the driver's own."""
    yield "local-cluster[2,1,1024]"


@contextmanager
def daemons(work: Path) -> Iterator[str]:
    """A master and a worker that were there before the driver."""
    with standalone(work, cores=2, memory="1g") as master:
        yield master


@pytest.mark.parametrize("cluster", [local_cluster, daemons])
def test_a_cluster(tmp_path: Path, cluster: Callable[[Path], AbstractContextManager[str]]) -> None:
    """Executors of their own; one of their workers is killed."""
    env = os.environ | worker_environment() | {"SPARK_WORKER_DIR": str(tmp_path / "work")}
    with cluster(tmp_path) as master:
        program = "tests.spark.long.clusters.plane_cluster"
        ran("-W", "ignore", "-m", program, master, str(tmp_path), env=env)
    found = json.loads((tmp_path / "found.json").read_text())
    assert sorted(partition for _, partition in found["running"]) == [0, 1]
    assert len({pid for pid, _ in found["running"]}) == 2
    assert found["killed"] in found["lost"]
    assert len(found["lost"]) == 3, "the others are gone with their tasks"
    assert found["count"] == 20
    assert found["counters"] == {"0": {"rows_in": 10}, "1": {"rows_in": 10}}


def test_a_zombie_of_a_keyed_operator(tmp_path: Path) -> None:
    """Its executor is frozen, another has its partition: refused when it goes on, and told why."""
    env = os.environ | worker_environment() | {"SPARK_WORKER_DIR": str(tmp_path / "work")}
    ran("-W", "ignore", "-m", "tests.spark.long.clusters.plane_zombie", str(tmp_path), env=env)
    found = json.loads((tmp_path / "found.json").read_text())
    assert by_key(found["rows"]) == {
        key: [[key, n] for n in range(1, 3 * BATCHES + 1)] for key in KEYS
    }
    assert found["told"].startswith("FencingTokenError: attempt 0 (task ")
    assert "of operator 'haunted', partition 1, in epoch 0 of run" in found["told"]
    assert "Nobody waits for what it does" in found["told"]
    assert found["counted"] == 3 * BATCHES * len(KEYS), "the zombie's rows do not count"


def test_speculation(tmp_path: Path) -> None:
    """Of two attempts side by side none is failed, and one counts; Spark wants two hosts for it."""
    env = os.environ | worker_environment()
    hosts = "127.0.0.2", "127.0.0.3"
    with standalone(tmp_path, cores=2, memory="1g", hosts=hosts) as master:
        program = "tests.spark.long.clusters.plane_speculation"
        ran("-W", "ignore", "-m", program, master, str(tmp_path), env=env)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["rows"] == list(range(ROWS))
    assert found["slow"], "the first attempt was under way"
    assert found["told"] == ""
    each = ROWS // PARTITIONS
    assert found["counters"] == {
        str(number): {"rows_in": each, "seen": each} for number in range(PARTITIONS)
    }


def test_connect(tmp_path: Path) -> None:
    """A session of a server says what is lost; a plane that is told its host works there, too."""
    env = os.environ | worker_environment()
    ran("-W", "ignore", "-m", "tests.spark.long.clusters.plane_connect", str(tmp_path), env=env)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["session"].startswith("pyspark.sql.connect.")
    for refusal in (found["given"], found["active"]):
        assert "on Spark Connect and serverless services they cannot" in refusal
        for lost in ("registration of workers", "live counters", "cancel and drain", "settings"):
            assert lost in refusal
        assert "ControlPlane(host=...)" in refusal
    assert found["count"] == 20
    assert found["speculates"], "the plane reads what the server was started with"
    assert found["counters"] == {"0": {"rows": 10}, "1": {"rows": 10}}
