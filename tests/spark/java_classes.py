"""Have Java keep the classes that Spark loads, so that the JVMs of tests start in less time.

    python -m tests.spark.java_classes

Runs a query with each backend in a JVM that writes an archive of its classes when it ends (class
data sharing).  A JVM with another class path or release ignores the archive.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.spark.conftest import worker_environment
from tests.spark.functions import LATE, Silence
from tests.spark.sessions import CLASSES, JAVA, JAVA_OPTIONS, LOCAL, session
from tests.spark.support import GROUPS, Source, run, settings, timed
from tests.spark.traffic import OUT, SCHEMA, feed, random_batches


def main() -> None:
    """Write the archive."""
    part = CLASSES.with_suffix(f".{os.getpid()}")
    os.environ.update(worker_environment())
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        spark = session(LOCAL, work, {JAVA_OPTIONS: f"{JAVA} -XX:ArchiveClassesAtExit={part}"})
        for backend in ("store", "versioned"):
            source = Source(spark, work / backend / "in", SCHEMA)
            feed(source, random_batches(1, batches=2, rows=50, keys=20))
            state = settings(work / backend / "tables", backend=backend)
            stream = timed(source.stream(), 1000).key_by("key")
            counted = stream.process(Silence(), schema=OUT, max_parallelism=GROUPS, state=state)
            run(counted, work / backend / "checkpoint", LATE)
        java = spark.sparkContext._gateway.proc
        spark.stop()
        java.stdin.close()  # then it ends
        java.wait()
    part.rename(CLASSES)


if __name__ == "__main__":
    main()
