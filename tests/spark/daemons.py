"""A cluster of Spark's own daemons on this host: a master and a worker, as a site runs them."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.spark.conftest import worker_environment
from tests.waiting import until

HOST = "127.0.0.1"
SPARK_CLASS = Path(pyspark.__file__).parent / "bin/spark-class"


def free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def daemon(log: Path, name: str, *arguments: str) -> Iterator[None]:
    """One of Spark's classes in a JVM of its own, which is ended with the block."""
    environment = os.environ | worker_environment()
    environment |= {
        "SPARK_HOME": str(SPARK_CLASS.parents[1]),
        "SPARK_LOCAL_IP": HOST,  # its web page listens there, too
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{name}", "--host", HOST]
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
def standalone(work: Path, *, cores: int, memory: str) -> Iterator[str]:
    """The address of a master that has one worker with so much to give."""
    port = free_port()
    master = f"spark://{HOST}:{port}"
    logs = work / "master.log", work / "worker.log"
    with ExitStack() as stack:
        stack.enter_context(daemon(logs[0], "master.Master", "--port", str(port)))
        given = ("--cores", str(cores), "--memory", memory, "--work-dir", str(work / "executors"))
        # It tries again where the master is not there yet.
        stack.enter_context(daemon(logs[1], "worker.Worker", *given, master))
        until(lambda: "Successfully registered with master" in logs[1].read_text(), "a worker")
        yield master
