"""Programs as scripts: what is in ``__main__`` and beside the script reaches the workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
from beside_it import doubled  # a module beside the script

from flinkish.common import Row, Types
from flinkish.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from flinkish.datastream.state import ValueStateDescriptor


class Event:
    def __init__(self, key, n):
        self.key, self.n = key, n


class LastEvent(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(
            ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        before = self.last.value()
        assert before is None or isinstance(before, Event)
        self.last.update(value)
        yield value, before


def local(pair):
    class Both:
        def __init__(self, event, before):
            self.total = event.n + (before.n if before else 0)

    return Both(*pair), lambda n: doubled(n)


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    events = env.from_collection([Event("a", 1), Event("a", 2), Event("b", 3)])
    last = events.filter(lambda one: isinstance(one, Event)).key_by(lambda one: one.key)
    totals = last.process(LastEvent()).map(local).map(lambda both: both[1](both[0].total))
    totals.print()
    env.execute()
"""


FAILING = """
from flinkish.common import Types
from flinkish.datastream import StreamExecutionEnvironment


def broken(n):
    return 1 // (n - 2)


env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2, 3], Types.INT()).map(broken, Types.INT()).print()
env.execute()
"""


def test_a_script_in_another_directory(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "job", tmp_path / "elsewhere"
    place.mkdir()
    elsewhere.mkdir()
    (place / "job.py").write_text(SCRIPT)
    (place / "beside_it.py").write_text("def doubled(n):\n    return 2 * n\n")
    command = [sys.executable, str(place / "job.py")]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["2", "6", "6"]
    noise = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(noise) < 10, done.stderr


def test_the_error_of_a_script_is_its_own(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text(FAILING)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 1
    noise, _, error = done.stderr.partition("Traceback (most recent call last):")
    assert len(noise.splitlines()) < 10, noise
    said = "ZeroDivisionError: integer division or modulo by zero"
    assert error.count(said) == 1, "nothing of Spark's tells it again"
    assert f"{said}\nraised in operator 'map-2' (broken.map), for the element 2" in error
    assert "at org.apache.spark" not in error
