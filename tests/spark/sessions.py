"""Spark sessions of tests: the room's own, and those of programs that tests start."""

from __future__ import annotations

import fcntl
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from pyspark.sql import SparkSession

import flinkish.spark as fs

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
# What java_classes.py has kept of an earlier start.
CLASSES = Path(sys.prefix) / "spark.jsa"
# Queries are short: what it takes to load and compile them is most of what they take.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"
KEPT = f' -XX:SharedArchiveFile="{CLASSES}" -Xlog:disable' if CLASSES.exists() else ""
QUICK_JAVA = JAVA + KEPT
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# For programs of users, too.
QUICK = {
    "spark.python.authenticate.socketTimeout": "120s",  # machines may be busy
    JAVA_OPTIONS: QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# On local disks Spark's usual way to rename files of checkpoints starts the program `readlink` some
# 66 times a micro-batch.  This way starts none, but adds a second file to each: good for a session
# that nobody kills.  Programs that are killed keep to the usual way, which users have.
FILES = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming"
    ".checkpointing.FileSystemBasedCheckpointFileManager"
}
LOCAL = "local[2,3]"  # two cores, and tasks that may fail twice

_turn: TextIO | None = None


def _wait_for_port() -> None:
    """Wait until no other program of these tests has a Connect server, until this one ends.

    Local servers have one port, and a client whose own server found it taken meets another's.
    """
    global _turn
    if _turn is None:
        _turn = open(Path(tempfile.gettempdir()) / "flinkish-tests-connect.lock", "w")  # noqa: SIM115
        fcntl.flock(_turn, fcntl.LOCK_EX)


def session(place: str, work: Path, more: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """A session of a master, or of a Connect server of its own where ``place`` is "connect".

    What Spark writes for itself goes into WORK; ``more`` are settings.
    """
    builder = SparkSession.builder.appName("flinkish tests")
    if place == "connect":
        _wait_for_port()
    builder = builder.remote("local[2]") if place == "connect" else builder.master(place)
    rooms = {
        "spark.local.dir": str(work / "local"),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
    }
    for name, value in (SETTINGS | QUICK | rooms | dict(more)).items():
        builder = builder.config(name, value)
    return fs.configure(builder.getOrCreate())
