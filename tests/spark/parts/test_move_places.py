"""Checkpoints between which state is moved: those of which Spark finds its own store."""

from pathlib import Path

import pytest

from flinkish.common.errors import UnsupportedOperationError
from flinkish.spark.moves.logs import Place


@pytest.mark.parametrize("name", ["a b", "a%20b", "a#b", "a?b", "a{b}", "a[0]", 'a"b'])
def test_spark_does_not_find_its_store(tmp_path: Path, name: str) -> None:
    """Such a query runs; the source 'statestore' says that no batch was committed."""
    with pytest.raises(UnsupportedOperationError, match="Spark reads no state of the checkpoint"):
        Place(f"file:{tmp_path}/{name}").check_store_can_be_read()


@pytest.mark.parametrize("name", ["ab", "a_b-c.d+e=f,g", "\u00fc", "a&b;c@d$e~f!g(h)*'"])
def test_spark_finds_its_store(tmp_path: Path, name: str) -> None:
    Place(str(tmp_path / name)).check_store_can_be_read()
