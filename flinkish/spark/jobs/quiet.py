"""The log of a session that a program starts: only errors, unless log4j is configured."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["with_quiet_log"]

_OPTIONS = "spark.driver.extraJavaOptions"
_PROGRESS = "spark.ui.showConsoleProgress"
_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
# Where options of the driver's JVM may come from, in addition to the settings.
_VARIABLES = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")


def with_quiet_log(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session, with a configuration of its log.

    They stay as they are if the user has configured log4j, and under spark-submit, which has
    already started the JVM.
    """
    found = dict(settings)
    if _is_configured(settings) or "PYSPARK_GATEWAY_PORT" in os.environ:
        return found
    option = f"-Dlog4j2.configurationFile={_CONFIGURATION.as_uri()}"
    found[_OPTIONS] = f"{found.get(_OPTIONS, '')} {option}".strip()
    found.setdefault(_PROGRESS, "false")
    # The job raises the error of a micro-batch; py4j would log it once more.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    return found


def _is_configured(settings: Mapping[str, str]) -> bool:
    """Whether the user has configured how Spark logs."""
    options = [settings.get(_OPTIONS, ""), *(os.environ.get(name, "") for name in _VARIABLES)]
    if any("log4j" in one or _OPTIONS in one for one in options):
        return True
    home = os.environ.get("SPARK_HOME")
    places = [os.environ.get("SPARK_CONF_DIR"), home and os.path.join(home, "conf")]
    return any(place and any(Path(place).glob("log4j2.*")) for place in places)
