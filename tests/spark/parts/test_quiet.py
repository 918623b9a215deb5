"""Whose configuration of Spark's log counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from flinkish.spark.jobs import quiet

OPTIONS = "spark.driver.extraJavaOptions"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*quiet._VARIABLES, "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_a_new_session_logs_errors_alone() -> None:
    found = quiet.with_quiet_log({OPTIONS: "-Xmx1g", "spark.a": "b"})
    own, option = found[OPTIONS].split()
    assert own == "-Xmx1g"
    name, _, place = option.partition("=")
    assert name == "-Dlog4j2.configurationFile"
    assert Path(place.removeprefix("file://")).read_text().count("rootLogger.level = error") == 1
    assert found["spark.ui.showConsoleProgress"] == "false"
    assert found["spark.a"] == "b"


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_a_configuration_beside_spark_counts(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "conf" if name == "SPARK_HOME" else tmp_path
    place.mkdir(exist_ok=True)
    monkeypatch.setenv(name, str(tmp_path))
    assert OPTIONS in quiet.with_quiet_log({}), "there is none yet"
    (place / "log4j2.xml").touch()
    assert quiet.with_quiet_log({}) == {}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("PYSPARK_SUBMIT_ARGS", f"--conf {OPTIONS}=-Xmx1g pyspark-shell"),
        ("JAVA_TOOL_OPTIONS", "-Dlog4j2.configurationFile=/my.xml"),
    ],
)
def test_options_of_the_users_count(
    name: str, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, options)
    assert quiet.with_quiet_log({}) == {}
    own = {OPTIONS: "-Dlog4j.configurationFile=/my.properties"}
    monkeypatch.delenv(name)
    assert quiet.with_quiet_log(own) == own


def test_nothing_is_set_below_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert quiet.with_quiet_log({}) == {}
