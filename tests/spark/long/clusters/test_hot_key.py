"""One key with more output in a batch than the JVM's heap could hold several times."""

from pathlib import Path

from tests.processes import ran

ROWS, BYTES = 15_000, 20_000


def test_output_of_one_key_takes_no_heap_of_its_size(
    environment: dict[str, str], tmp_path: Path
) -> None:
    program = "tests.spark.long.clusters.hot_key"
    done = ran("-m", program, str(tmp_path), "1g", str(ROWS), str(BYTES), env=environment)
    assert done.stdout.split()[-2:] == [str(ROWS), str(ROWS * BYTES)]
