"""Places by path and by URI: what Spark's paths mean, and what URIs do."""

from __future__ import annotations

from pathlib import Path

import pyarrow.fs as pafs
import pytest

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.file_systems import file_system_of, file_system_of_spark_path


@pytest.mark.parametrize("begin", ["", "file:", "file://", "file://localhost"])
@pytest.mark.parametrize("name", ["a b", "a%20b", "ü", "a#b", "a?b=c", "a:b", "100%", "{a}*"])
def test_nothing_is_encoded_in_a_path_of_sparks(tmp_path: Path, begin: str, name: str) -> None:
    file_system, path = file_system_of_spark_path(f"{begin}{tmp_path}/{name}", "a checkpoint")
    assert isinstance(file_system, pafs.LocalFileSystem)
    assert path == str(tmp_path / name)


def test_paths_of_sparks_are_normal() -> None:
    """As Hadoop's Path makes them: a job may say one and Spark another."""
    for said in ("/a/./b/../c//d/", "file:/a/c/d/", "file:///x/../a/c/d"):
        assert file_system_of_spark_path(said, "a checkpoint")[1] == "/a/c/d"
    assert file_system_of_spark_path("d", "a checkpoint")[1] == str(Path("d").absolute())


@pytest.mark.parametrize("name", ["a b", "a%20b", "ü", "a#b", "a?b=c"])
def test_a_path_of_sparks_in_a_store(name: str) -> None:
    """pyarrow decodes URIs, fsspec does not; what comes out is the name."""
    gcs, path = file_system_of_spark_path(f"gs://anonymous@bucket/{name}/x", "a checkpoint")
    assert (gcs.type_name, path) == ("gcs", f"bucket/{name}/x")
    pytest.importorskip("fsspec")
    memory, path = file_system_of_spark_path(f"memory://place/{name}/x/", "a checkpoint")
    assert (memory.type_name, path) == ("py::fsspec+memory", f"/place/{name}/x")


def test_a_uri_is_decoded(tmp_path: Path) -> None:
    for name in ("a b", "a%20b", "ü", "a#b", "a?b"):
        assert file_system_of((tmp_path / name).as_uri(), "reports")[1] == str(tmp_path / name)
        assert file_system_of(str(tmp_path / name), "reports")[1] == str(tmp_path / name)


@pytest.mark.parametrize("name", ["a b", "ü", "a#b", "a?b"])
def test_a_uri_with_letters_that_must_be_encoded(name: str) -> None:
    """pyarrow would write into the folder 'a' for the last two."""
    with pytest.raises(IllegalArgumentError, match=r"urllib\.parse\.quote, or give a path of this"):
        file_system_of(f"file:///tmp/{name}", "reports")
