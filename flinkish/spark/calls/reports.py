"""Reports of tasks that make calls: a small file for each partition, written again and again.

The directory is one that workers and the user's process both reach, wherever they are.  A report
has the counts of an attempt in its epoch and, as ``before``, those of earlier epochs, so that a
stream has as many files as partitions.  An attempt begins with the report that it finds: it adds an
earlier epoch to ``before`` and forgets an earlier attempt of its own epoch.  It writes no more once
it finds a later attempt's.  Reports are for people who watch; results and exact counts do not
depend on them.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import pyarrow.fs as pafs

from flinkish.common.file_systems import file_system_of
from flinkish.spark.control_plane.attempts import Attempt

__all__ = ["IN_FLIGHT", "Report", "ReportPlace", "Reporter"]

_LOG = logging.getLogger(__name__)

IN_FLIGHT = "in_flight"
_INTERVAL_S = 1.0
_PATIENCE_S = 5.0  # of a task that ends, with a file system that does not answer


class Report(msgspec.Struct):
    """The counts of a partition so far, by name."""

    operator: str
    epoch: int
    task: int
    counts: dict[str, int]
    before: dict[str, int]
    in_flight: int = 0
    ended: bool = False

    @property
    def totals(self) -> dict[str, int]:
        """Those of all epochs, and the calls under way."""
        return dict(Counter(self.before) + Counter(self.counts)) | {IN_FLIGHT: self.in_flight}


@dataclass(frozen=True)
class ReportPlace:
    """A directory of reports; it need not exist."""

    path: str

    @cached_property
    def _opened(self) -> tuple[pafs.FileSystem, str]:
        """The file system, whose connections serve all reports, and the directory there."""
        return file_system_of(self.path, "reports in a directory")

    def __reduce__(self) -> tuple[Any, ...]:
        return ReportPlace, (self.path,)

    def files(self) -> dict[str, int | None]:
        """The reports that there are, and when each was written, in ns, if that is known."""
        file_system, directory = self._opened
        selector = pafs.FileSelector(directory, allow_not_found=True)
        found = file_system.get_file_info(selector)
        return {file.base_name: file.mtime_ns for file in found if file.extension == "json"}

    def read(self, name: str) -> Report | None:
        """A report; None if there is none, or one that is being written."""
        file_system, directory = self._opened
        try:
            with file_system.open_input_file(f"{directory}/{name}") as file:
                return msgspec.json.decode(file.read(), type=Report)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def write(self, name: str, report: Report) -> None:
        """Put a report in the place of the one before."""
        file_system, directory = self._opened
        file_system.create_dir(directory, recursive=True)
        # Object stores show whole files alone; on a disk a rename does that.
        local = isinstance(file_system, pafs.LocalFileSystem)
        written = f"{directory}/{name}" + (f".{report.task}" if local else "")
        with file_system.open_output_stream(written) as file:
            file.write(msgspec.json.encode(report))
        if local:
            file_system.move(written, f"{directory}/{name}")

    def remove(self) -> None:
        """Delete the directory, if there is one."""
        file_system, directory = self._opened
        with suppress(FileNotFoundError):
            file_system.delete_dir(directory)


class Reporter:
    """Reports an attempt while it runs, once a second and at its end; a context manager.

    ``read`` gives the counts and IN_FLIGHT; it is called on another thread than the task's.  A
    directory that cannot be written to is warned of once, and the task goes on.
    """

    def __init__(
        self, place: ReportPlace, attempt: Attempt, read: Callable[[], dict[str, int]]
    ) -> None:
        self._place = place
        self._attempt = attempt
        self._read = read
        run = attempt.query or f"stage {attempt.stage}"
        named = f"{attempt.operator}\0{run}\0{attempt.partition}"
        self._name = hashlib.sha256(named.encode()).hexdigest()[:32] + ".json"
        self._before: dict[str, int] | None = None  # not known yet
        self._counts: dict[str, int] = {}
        self._late = self._warned = False
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"{attempt.operator}-reports", daemon=True
        )

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        pause = 0.0
        while not self._late and not self._ended.wait(pause):
            self._try_to_report(ended=False)
            pause = _INTERVAL_S
        self._try_to_report(ended=True)

    def _try_to_report(self, *, ended: bool) -> None:
        try:
            with suppress(RuntimeError):  # a counter came while they were read
                self._counts = self._read()
            self._report(ended)
        except Exception:
            if not self._warned:
                self._warned = True
                _LOG.warning("%s cannot report to %s", self._attempt, self._place, exc_info=True)

    def _report(self, ended: bool) -> None:
        attempt = self._attempt
        found = self._place.read(self._name)
        if found is not None and (found.epoch, found.task) > (attempt.epoch, attempt.task):
            self._late = True
            return
        if self._before is None:
            done = Counter[str]()
            if found is not None:
                done += Counter(found.before)
                if found.epoch < attempt.epoch:
                    done += Counter(found.counts)
            self._before = dict(done)
        counts = dict(self._counts)
        in_flight = counts.pop(IN_FLIGHT, 0)
        self._place.write(
            self._name,
            Report(
                operator=attempt.operator,
                epoch=attempt.epoch,
                task=attempt.task,
                counts=counts,
                before=self._before,
                in_flight=0 if ended else in_flight,
                ended=ended,
            ),
        )
