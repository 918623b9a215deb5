"""A broker of Kafka on loopback, from its jars on Maven Central and those that pyspark brings."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
from confluent_kafka.admin import AdminClient, NewTopic

CENTRAL = "https://repo.maven.apache.org/maven2"
KAFKA = "3.9.1"
# Spark's connector of the installed release, or of the last one that is on Maven Central.
CONNECTORS = (pyspark.__version__, "4.2.0")
ROOMS = ("group-coordinator", "group-coordinator-api", "metadata", "raft", "server")
OTHER_ROOMS = ("server-common", "storage", "storage-api", "tools-api", "transaction-coordinator")
BROKER = [
    f"org/apache/kafka/kafka_2.13/{KAFKA}/kafka_2.13-{KAFKA}.jar",
    *(
        f"org/apache/kafka/kafka-{room}/{KAFKA}/kafka-{room}-{KAFKA}.jar"
        for room in (*ROOMS, *OTHER_ROOMS, "clients")
    ),
    "com/typesafe/scala-logging/scala-logging_2.13/3.9.5/scala-logging_2.13-3.9.5.jar",
    "org/scala-lang/modules/scala-java8-compat_2.13/1.0.2/scala-java8-compat_2.13-1.0.2.jar",
    "com/fasterxml/jackson/dataformat/jackson-dataformat-csv/2.16.2/"
    "jackson-dataformat-csv-2.16.2.jar",
    "net/sf/jopt-simple/jopt-simple/5.0.4/jopt-simple-5.0.4.jar",
    "com/yammer/metrics/metrics-core/2.2.0/metrics-core-2.2.0.jar",
    "org/pcollections/pcollections/4.0.1/pcollections-4.0.1.jar",
    "com/github/ben-manes/caffeine/caffeine/2.9.3/caffeine-2.9.3.jar",
    "org/bitbucket/b_c/jose4j/0.9.4/jose4j-0.9.4.jar",
    "net/sourceforge/argparse4j/argparse4j/0.7.0/argparse4j-0.7.0.jar",
    "commons-validator/commons-validator/1.7/commons-validator-1.7.jar",
]
CLIENTS = [
    f"org/apache/kafka/kafka-clients/{KAFKA}/kafka-clients-{KAFKA}.jar",
    "org/apache/commons/commons-pool2/2.12.1/commons-pool2-2.12.1.jar",
]
CONNECTOR = [
    "org/apache/spark/spark-sql-kafka-0-10_2.13/{0}/spark-sql-kafka-0-10_2.13-{0}.jar",
    "org/apache/spark/spark-token-provider-kafka-0-10_2.13/{0}/"
    "spark-token-provider-kafka-0-10_2.13-{0}.jar",
]
JARS = Path.home() / ".cache" / "flinkish" / "kafka"
PATIENCE_S = 60
PARTITIONS = 2


def fetched(path: str) -> Path:
    """A file of Maven Central, fetched unless an earlier run has fetched it."""
    place = JARS / path.rpartition("/")[2]
    if not place.exists():
        JARS.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(f"{CENTRAL}/{path}", timeout=PATIENCE_S) as found:
            # Another process may fetch the same one.
            part = place.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(found.read())
            part.replace(place)
    return place


def connector_jars() -> str:
    """Spark's Kafka connector, as the setting ``spark.jars`` takes it."""
    for version in CONNECTORS:
        try:
            jars = [fetched(path.format(version)) for path in CONNECTOR]
        except urllib.error.HTTPError as error:
            if error.code != 404 or version == CONNECTORS[-1]:
                raise
        else:
            break
    return ",".join(str(jar) for jar in [*jars, *(fetched(path) for path in CLIENTS)])


def _free_port() -> int:
    """A port that nobody has, and that the system gives to no client while the broker is down."""
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        with socket.socket() as made, suppress(OSError):
            made.bind(("127.0.0.1", port))
            return port


class Broker:
    """A broker that keeps its topics in a folder, and may be killed and started again.

    Ownership: its process, which `kill` ends.  Threading: one thread.
    """

    def __init__(self, folder: Path, java_options: Sequence[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port, control = _free_port(), _free_port()
        self.address = f"127.0.0.1:{port}"
        self._port = port
        self._log = folder / "log"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{control}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{control}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(folder / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "auto.create.topics.enable": "false",
        }
        properties = folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        own = [str(fetched(path)) for path in BROKER]
        classes = ":".join([*own, f"{Path(pyspark.__file__).parent}/jars/*"])
        java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
        command = [str(java), "-Xmx512m", *java_options, "-cp", classes]
        cluster = ["-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(properties)]
        storage = [*command, "kafka.tools.StorageTool", "format", *cluster]
        subprocess.run(storage, check=True, capture_output=True)
        self._command = [*command, "kafka.Kafka", str(properties)]
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, with the topics that it has; AssertionError if nobody answers."""
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT)
        _wait_for(self._port, self._server, self._log)

    def make(self, topics: Iterable[str]) -> None:
        """Make topics of two partitions each."""
        admin = AdminClient({"bootstrap.servers": self.address})
        asked = [NewTopic(topic, PARTITIONS, 1) for topic in topics]
        for made in admin.create_topics(asked, request_timeout=PATIENCE_S).values():
            made.result()

    def kill(self) -> None:
        """End it at once."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()


@contextmanager
def broker(folder: Path, topics: Iterable[str]) -> Iterator[str]:
    """The address of a broker that has these topics, and no others.

    A producer that makes its topic itself may write out of order: if the broker does not know the
    partition yet, it refuses the producer's first records and takes the next ones, and refuses the
    first ones for ever after, since their sequence numbers are then too low.
    """
    made = Broker(folder)
    try:
        made.start()
        made.make(topics)
        yield made.address
    finally:
        made.kill()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert server.poll() is None, f"the broker has ended: {log.read_text()[-2000:]}"
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"no broker after {PATIENCE_S} s: {log.read_text()[-2000:]}")
