"""A cluster of Spark's own daemons on this host: a master and workers, as a site runs them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.spark.conftest import worker_environment
from tests.spark.patience import until
from tests.spark.sessions import QUICK_JAVA

HOST = "127.0.0.1"
SPARK_CLASS = Path(pyspark.__file__).parent / "bin/spark-class"


@contextmanager
def daemon(log: Path, name: str, *arguments: str, host: str = HOST) -> Iterator[None]:
    """One of Spark's classes in a JVM of its own, which is ended with the block."""
    environment = os.environ | worker_environment()
    environment |= {
        "SPARK_HOME": str(SPARK_CLASS.parents[1]),
        "SPARK_LOCAL_IP": host,  # its web page listens there, too
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{name}", "--host", host]
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [*command, "--webui-port", "0", *arguments], env=environment, stdout=out, stderr=out
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


@contextmanager
def standalone(
    work: Path, *, cores: int, memory: str, hosts: tuple[str, ...] = (HOST,)
) -> Iterator[str]:
    """The address of a master that has a worker on each host, with so much to give."""
    log = work / "master.log"
    with ExitStack() as stack:
        stack.enter_context(daemon(log, "master.Master", "--port", "0"))

        def listens() -> re.Match[str] | None:
            return re.search(r"Starting Spark master at (spark://\S+)", log.read_text())

        until(lambda: listens() is not None, "a master")
        found = listens()
        assert found is not None
        given = ("--cores", str(cores), "--memory", memory, "--work-dir", str(work / "executors"))
        logs = [work / f"worker-{host}.log" for host in hosts]
        for host, of in zip(hosts, logs, strict=True):
            # It tries again if the master is not there yet.
            stack.enter_context(daemon(of, "worker.Worker", *given, found[1], host=host))
        registered = "Successfully registered with master"
        until(lambda: all(registered in of.read_text() for of in logs), "the workers")
        yield found[1]
