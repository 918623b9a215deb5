"""Files of Avro by Spark's own module, which a session must be given."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
from pathlib import Path

from examples.realtime.broker import CONNECTORS, fetched

PROGRAM = Path(__file__).with_name("program.py")
MODULE = "org/apache/spark/spark-avro_2.13/{0}/spark-avro_2.13-{0}.jar"
LONGEST_S = 300


def avro_jar() -> Path:
    """Spark's Avro of the installed release, or of the last one that is on Maven Central."""
    for version in CONNECTORS[:-1]:
        try:
            return fetched(MODULE.format(version))
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
    return fetched(MODULE.format(CONNECTORS[-1]))


def run(environment: dict[str, str], folder: Path, jars: str) -> str:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), jars],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_each_type_comes_back(environment: dict[str, str], tmp_path: Path) -> None:
    assert "done" in run(environment, tmp_path, str(avro_jar()))


def test_a_session_without_the_module_is_told_of_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    said = run(environment, tmp_path, "")
    assert "spark.jars.packages" in said
    assert "org.apache.spark:spark-avro_2.13:" in said
