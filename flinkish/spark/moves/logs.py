"""Spark's logs of a query in its checkpoint: what was planned, and what was committed.

Both are folders of files, one for each batch.  An entry is text: the version, a JSON object, and
in the log of what was planned a line for the offset of each source, "-" for one without.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.fs as pafs

from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.common.file_systems import file_system_of_spark_path

__all__ = ["NO_OFFSET", "Entry", "Place"]

NO_OFFSET = "-"
_QUERY = "metadata"
# Letters that `java.net.URI` encodes in a path.
_ENCODED = re.compile(r"[\x00-\x20\x7f\"#%<>?\[\\\]^`{|}]")
_VERSIONS = {"offsets": ("v1",), "commits": ("v1", "v2")}


@dataclass(frozen=True)
class Entry:
    """An entry of a log."""

    version: str
    said: dict[str, Any]
    offsets: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str, path: str) -> Entry:
        """The entry of a file; IllegalStateError for another form."""
        lines = text.splitlines()
        try:
            said = json.loads(lines[1])
            assert isinstance(said, dict)
        except (AssertionError, IndexError, ValueError) as error:
            raise IllegalStateError(
                f"{path} cannot be read ({error!r}): this release of Spark may write its logs in "
                "another form"
            ) from error
        return cls(lines[0], said, tuple(lines[2:]))

    def saying(self, **said: Any) -> Entry:
        """The entry with other values in its object."""
        return replace(self, said=self.said | said)

    @property
    def text(self) -> str:
        """The file of the entry."""
        said = json.dumps(self.said, separators=(",", ":"))
        return "\n".join([self.version, said, *self.offsets])


class Place:
    """A checkpoint on whatever file system it is, and the files that it has."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.file_system, self.path = file_system_of_spark_path(location, "a checkpoint")

    def check_store_can_be_read(self) -> None:
        """UnsupportedOperationError if Spark does not find its store in this checkpoint.

        Queries take a path as it is; `StreamingUtils.resolvedCheckpointLocation`, which the source
        'statestore' asks, encodes it and takes the result for the path.  Run on 4.3.0.
        """
        if found := _ENCODED.search(self.path):
            raise UnsupportedOperationError(
                f"Spark reads no state of the checkpoint {self.location!r}, since its path has "
                f"{found[0]!r}: to move state into or out of Spark's store, its path "
                "must have no blank, %, ?, # or bracket; copy or make it under another name"
            )

    def read(self, name: str) -> str:
        """The text of a file."""
        with self.file_system.open_input_file(f"{self.path}/{name}") as file:
            text: str = file.read().decode()
        return text

    def write(self, name: str, data: str | bytes) -> None:
        """Write a file, and the folders that it is in."""
        path = f"{self.path}/{name}"
        self.file_system.create_dir(path.rpartition("/")[0], recursive=True)
        with self.file_system.open_output_stream(path) as file:
            file.write(data.encode() if isinstance(data, str) else data)

    def files(self, folder: str) -> list[str]:
        """The files below a folder, by their paths in the checkpoint; hidden ones are no files."""
        selector = pafs.FileSelector(
            f"{self.path}/{folder}".rstrip("/"), recursive=True, allow_not_found=True
        )
        found = self.file_system.get_file_info(selector)
        return sorted(
            one.path[len(self.path) + 1 :]
            for one in found
            if one.is_file and not one.base_name.startswith(".")
        )

    def remove(self, folder: str = "") -> None:
        """Delete a folder, or all of it."""
        self.file_system.delete_dir(f"{self.path}/{folder}".rstrip("/"))

    def move(self, name: str, to: str) -> None:
        """Give a file another place in the checkpoint."""
        path = f"{self.path}/{to}"
        self.file_system.create_dir(path.rpartition("/")[0], recursive=True)
        self.file_system.move(f"{self.path}/{name}", path)

    # --- the logs

    def batches(self, log: str) -> list[int]:
        """The batches that have an entry in a log."""
        names = [path.rpartition("/")[2] for path in self.files(log)]
        return sorted(int(name) for name in names if name.isdecimal())

    def entry(self, log: str, batch: int) -> Entry:
        """The entry of a batch; IllegalStateError for one in another form."""
        path = f"{log}/{batch}"
        entry = Entry.read(self.read(path), f"{self.path}/{path}")
        if entry.version not in _VERSIONS[log]:
            raise IllegalStateError(
                f"{self.path}/{path} is of version {entry.version}, and a move knows "
                f"{' and '.join(_VERSIONS[log])}: this release of Spark writes another form"
            )
        return entry

    def last_batch(self) -> int:
        """The last batch that was committed; IllegalArgumentError if there is none."""
        committed = self.batches("commits")
        if not committed or committed[-1] not in self.batches("offsets"):
            raise IllegalArgumentError(
                f"{self.location!r} is no checkpoint of a query that has committed a batch: its "
                "folders commits and offsets have none; give the query's checkpointLocation"
            )
        return committed[-1]

    # --- a checkpoint that is made

    def begin(self, of: Place) -> None:
        """Make it, as one with which no query starts before `finish`; IllegalArgumentError."""
        if self.files(""):
            raise IllegalArgumentError(
                f"{self.location!r} is not empty: a move makes a new checkpoint; give a location "
                "that does not exist yet"
            )
        self.write(
            _QUERY, f"flinkish: the move of {of.location} to this place has not come to its end\n"
        )

    def copy_logs(
        self, of: Place, entries: Mapping[str, Entry], sources: Sequence[int | None]
    ) -> None:
        """Write Spark's logs, and those of sources.

        ``entries`` are by their paths.  ``sources`` are the numbers that the sources have here, by
        those that they had; None for one that there is no more.
        """
        for path in of.files("sources"):
            folder, number, rest = path.split("/", 2)
            to = sources[int(number)] if int(number) < len(sources) else int(number)
            if to is not None:
                with of.file_system.open_input_file(f"{of.path}/{path}") as file:
                    self.write(f"{folder}/{to}/{rest}", file.read())
        for path, entry in entries.items():
            self.write(path, entry.text)

    def finish(self, of: Place) -> None:
        """Let it be the same query's: from now on one starts with it."""
        self.write(_QUERY, of.read(_QUERY))
