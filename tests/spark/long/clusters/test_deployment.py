"""Programs whose functions are in modules that only workers are given."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from tests.processes import LONGEST_S, python_path
from tests.spark.long.clusters.daemons import standalone
from tests.spark.sessions import QUICK, SETTINGS

HERE = Path(__file__).parent
SUBMIT = Path(pyspark.__file__).parent / "bin/spark-submit"
MODULE = HERE / "shop_rules.py"
ROWS = [("a", 1, 0), ("b", 2, 1), ("a", 3, 2), ("z", 0, 60)]  # shop, amount, second
SUMS = [["a", 1], ["a", 4], ["b", 2], ["z", 0]]
FOUND = {
    "keyed": SUMS,
    "windows": [["a", 4], ["b", 2]],
    "two inputs": [["a", 1], ["a", 4], ["a", 5], ["a", 8], ["b", 2], ["b", 4], ["z", 0], ["z", 0]],
    "broadcast": SUMS,
    "join": [["a", 2], ["a", 6], ["b", 4], ["z", 0]],
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rows of sales, and the program without its module."""
    folder = tmp_path_factory.mktemp("deployment")
    shutil.copy(HERE / "deployed_job.py", folder)
    (folder / "sales").mkdir()
    midnight = datetime(2025, 1, 1, tzinfo=timezone.utc)
    shops, amounts, seconds = zip(*ROWS, strict=True)
    columns = {
        "shop": pa.array(shops),
        "amount": pa.array(amounts, pa.int64()),
        "ts": pa.array([midnight + timedelta(seconds=one) for one in seconds]),
    }
    pq.write_table(pa.table(columns), folder / "sales/1.parquet")
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(tmp_path_factory.mktemp("cluster"), cores=2, memory="2g") as master:
        yield master


def submitted(
    work: Path, master: str, *options: str, python: str = sys.executable, kinds: list[str]
) -> dict[str, list[object]]:
    """What the program found; in client mode, with WORK as the driver's directory."""
    settings = SETTINGS | QUICK | {"spark.executor.memory": "512m"}
    confs = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
    done = subprocess.run(
        [SUBMIT, "--master", master, *confs, *options, "deployed_job.py", str(work), *kinds],
        cwd=work,
        env=os.environ
        | {
            "PYTHONPATH": python_path(),
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_HOME": str(SUBMIT.parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return printed(done.stdout)


def printed(text: str) -> dict[str, list[object]]:
    """What the program said that it found."""
    (line,) = [line for line in text.splitlines() if line.startswith("FOUND ")]
    return dict(json.loads(line.removeprefix("FOUND ")))


def test_every_kind_of_operator_takes_functions_of_a_module_that_was_sent(work: Path) -> None:
    options = ("--py-files", str(MODULE))
    assert submitted(work, "local[2]", *options, kinds=list(FOUND)) == FOUND


CONNECTED = """
import sys
from pathlib import Path

sys.path.insert(0, {here!r})  # of this process alone
import shop_rules
from pyspark import cloudpickle

cloudpickle.register_pickle_by_value(shop_rules)
from deployed_job import main
from tests.spark.sessions import session

work = Path({work!r})
main(session("connect", work / "connect"), work, {kinds!r})
"""


def test_a_connect_server_is_sent_a_module_by_value(work: Path) -> None:
    script = work / "connected.py"
    script.write_text(CONNECTED.format(here=str(HERE), work=str(work), kinds=list(FOUND)))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=work,
        env=os.environ | {"PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    assert printed(done.stdout) == FOUND


def test_a_cluster_is_sent_a_zip_of_modules(work: Path, cluster: str) -> None:
    package = work / "rules.zip"
    with zipfile.ZipFile(package, "w") as made:
        made.write(MODULE, MODULE.name)
    found = submitted(work, cluster, "--py-files", str(package), kinds=["keyed"])
    assert found == {"keyed": SUMS}


def test_a_cluster_is_sent_an_environment_that_is_also_unpacked_beside_the_driver(
    work: Path, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = work / "environment"
    venv.create(made, symlinks=False, with_pip=False)
    (site,) = made.glob("lib/python*/site-packages")
    shutil.copy(MODULE, site)
    archive = work / "packed.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(made, ".")
    # The driver defines the query, so it imports the module, too.
    monkeypatch.syspath_prepend(site)
    found = submitted(
        work,
        cluster,
        *("--archives", f"{archive}#environment"),
        python="./environment/bin/python",
        kinds=["keyed"],
    )
    assert found == {"keyed": SUMS}
