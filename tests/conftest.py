"""What every test gets: reproducible chance, and checks that it left no threads or files open."""

import gc
import os
import random
import signal
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, settings

import flinkish
from tests.cpu import Slowest
from tests.processes import python_path
from tests.waiting import PATIENCE

# The default repeats itself exactly, run after run; `--hypothesis-profile=soak` explores.
# How long examples take is the machine's affair, and never one of a test.
settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "short", settings.get_profile("default"), max_examples=15, stateful_step_count=30
)
settings.register_profile(
    "soak",
    settings.get_profile("default"),
    derandomize=False,
    max_examples=2000,
    stateful_step_count=200,
)
settings.load_profile("default")

# What a shell starts in the background ignores Ctrl-C, with all its children; tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


# What takes minutes: kills, clusters, demonstrations, many rounds of real threads.
HERE = Path(__file__).resolve().parent
LONG = (HERE / "stress", HERE / "spark" / "long")
# Rules of sources and pages, which ci/lint.sh checks.
RULES = tuple(HERE / f"test_{name}.py" for name in ("layers", "docs", "docstrings"))

FDS = Path("/proc/self/fd")
MOST_LEFT = 16  # descriptors after a test; some are of libraries that it was the first to use


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also the tests that take minutes")
    parser.addoption("--slowest", type=int, metavar="N", help="list N tests that took most CPU")


def pytest_configure(config: pytest.Config) -> None:
    if count := config.getoption("slowest"):
        config.pluginmanager.register(Slowest(count))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what takes minutes, unless --all asks for it, and rules; paths ask for both."""
    place = collection_path.resolve()
    if place not in RULES and (place not in LONG or config.getoption("all")):
        return None
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return not any(place in (path, *path.parents) for path in asked) or None


def pytest_report_header() -> str:
    return f"flinkish {flinkish.__version__} from {flinkish.__path__[0]}"


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """Variables with which a Python process imports as this one does."""
    return os.environ | {"PYTHONPATH": python_path()}


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> numpy.random.Generator:
    """A generator seeded by the test's own name: the same numbers in any order of tests."""
    return numpy.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _same_chance(request: pytest.FixtureRequest) -> None:
    random.seed(request.node.nodeid)


@pytest.fixture(autouse=True)
def _few_descriptors_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves many descriptors open: with 1024 of them py4j's `select` fails.

    A Spark session and its sockets live longer than a test.
    """
    if not FDS.is_dir() or request.node.get_closest_marker("spark") is not None:
        yield
        return
    before = len(os.listdir(FDS))
    yield
    if len(os.listdir(FDS)) - before > MOST_LEFT:
        gc.collect()
    if (left := len(os.listdir(FDS)) - before) > MOST_LEFT:
        pytest.fail(f"the test left {left} descriptors open", pytrace=False)


@pytest.fixture(autouse=True)
def _no_thread_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves threads behind.

    Those of fixtures with a wider scope are there before this one looks.  py4j and gRPC keep
    daemon threads for as long as their sessions live, so Spark tests answer for the others.
    """
    spark = request.node.get_closest_marker("spark") is not None
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + PATIENCE
    while left := {t for t in threading.enumerate() if not (spark and t.daemon)} - before:
        if time.monotonic() > deadline:
            names = ", ".join(sorted(thread.name for thread in left))
            pytest.fail(f"the test left {len(left)} thread(s) running: {names}", pytrace=False)
        time.sleep(0.01)
