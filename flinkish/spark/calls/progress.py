"""Live figures of `async_map`: to read, as a line in a terminal, as a table in a notebook."""

from __future__ import annotations

import html
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from pyspark.sql import DataFrame

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.spark.calls.answers import COUNTERS
from flinkish.spark.calls.reports import IN_FLIGHT, Report, ReportPlace
from flinkish.spark.keyed.result_rows import METRICS
from flinkish.spark.session import context_of, is_local

__all__ = ["CallProgress", "report_place"]

_EVERY_S = 0.5


class CallProgress:
    """The figures of calls while they are made; give it to ``async_map(progress=...)``.

    Tasks write their counts to ``directory`` once a second and this process reads them there, so
    neither a control plane nor a connection between them is needed, and it works on Spark Connect.
    The directory is a path or URI that both reach, on any file system that pyarrow or fsspec know;
    each CallProgress has a directory of its own in it, which `close` removes.  None is a temporary
    one of this machine, for a local master.

    Figures are of attempts whose rows count: those of one that failed are gone when the next one
    has begun.  They may be a second old.  The exact ones of a batch or an action are in its
    Observation, or in `statistics` of the query.

    Threading: safe from any thread.  Life cycle: a context manager.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self._temporary = directory is None
        if directory is None:
            above = tempfile.mkdtemp(prefix="flinkish-calls-")
            weakref.finalize(self, shutil.rmtree, above, ignore_errors=True)
        else:
            above = os.fspath(directory)
        self._place = ReportPlace(f"{above.rstrip('/')}/{secrets.token_hex(8)}")
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int | None, Report]] = {}

    def statistics(self) -> dict[str, int]:
        """The figures by name, of all calls that were given this.

        ``rows`` taken in, ``results`` given, rows that ``failed``, were ``dropped``, ``timed_out``
        or ``saved`` by a ledger, attempts ``retried``, rows ``in_flight`` (called for, or read
        ahead to be next), and as ``metrics.n`` each counter ``n`` that the function made.
        """
        with self._lock:
            for name, written in self._place.files().items():
                at, before = self._seen.get(name, (None, None))
                if before is not None and before.ended and at is not None and at == written:
                    continue  # most tasks of a large job have ended
                report = self._place.read(name)
                if report is not None:
                    self._seen[name] = written, report
            totals = Counter(dict.fromkeys((*COUNTERS, IN_FLIGHT), 0))
            for _, report in self._seen.values():
                totals.update(report.totals)
        return dict(totals)

    @contextmanager
    def shown(self, file: TextIO | None = None) -> Iterator[CallProgress]:
        """Show the figures as long as the ``with`` lasts, and once more at its end.

        In a notebook they are a table below the cell, in a terminal a line on ``file``, by default
        stderr, that is written again twice a second; a file that is no terminal gets the last.
        """
        show = _cell() or _line(sys.stderr if file is None else file)
        ended = threading.Event()
        begun = time.monotonic()

        def look(*, last: bool) -> None:
            with suppress(OSError):  # of a file system: the next look may be better
                figures = self.statistics()
                show(figures, _speed(figures, time.monotonic() - begun), last)

        def keep_looking() -> None:
            while not ended.wait(_EVERY_S):
                look(last=False)

        thread = threading.Thread(target=keep_looking, name="flinkish-progress", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()
            look(last=True)

    def __str__(self) -> str:
        return _text(self.statistics())

    def __repr__(self) -> str:
        return f"<CallProgress at {self._place.path}: {self}>"

    def _repr_html_(self) -> str:
        return _table(self.statistics(), "")

    def close(self) -> None:
        """Remove the reports; the last figures that were read stay."""
        with self._lock:
            self._place.remove()

    def __enter__(self) -> CallProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def report_place(progress: CallProgress | None, frame: DataFrame) -> ReportPlace | None:
    """Where tasks report to; an error for what workers cannot reach."""
    if progress is None:
        return None
    if not isinstance(progress, CallProgress):
        raise ArgumentTypeError(f"progress is a CallProgress, not {progress!r}")
    context = context_of(frame.sparkSession)
    if progress._temporary and not is_local(context):
        where = "a Spark Connect server" if context is None else f"the master {context.master!r}"
        raise IllegalArgumentError(
            f"the workers of {where} may not reach a temporary directory of this machine: "
            "name one that they and this process reach, CallProgress('s3://bucket/progress')"
        )
    return progress._place


# --- showing


def _text(figures: dict[str, int], speed: str = "") -> str:
    """The figures that say something, in a line."""
    always = ("rows", "results", "failed", IN_FLIGHT)
    said = [
        f"{count:,} {name.removeprefix(f'{METRICS}.').replace('_', ' ')}"
        for name, count in figures.items()
        if count or name in always
    ]
    return ", ".join([*said, *([speed] if speed else [])])


def _speed(figures: dict[str, int], seconds: float) -> str:
    done = figures["rows"] - figures[IN_FLIGHT]
    return f"{done / seconds:,.1f} rows/s" if seconds > 0 else ""


def _line(file: TextIO) -> Callable[[dict[str, int], str, bool], None]:
    """Writes over the line that it wrote before."""
    width = 0

    def show(figures: dict[str, int], speed: str, last: bool) -> None:
        nonlocal width
        text = _text(figures, speed)
        if file.isatty():
            file.write("\r" + text.ljust(width) + ("\n" if last else ""))
            width = len(text)
        elif last:
            file.write(text + "\n")
        file.flush()

    return show


def _cell() -> Callable[[dict[str, int], str, bool], None] | None:
    """Writes over the table below the cell of a notebook; None outside of notebooks."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

    handle = display(HTML(""), display_id=True)

    def show(figures: dict[str, int], speed: str, last: bool) -> None:
        handle.update(HTML(_table(figures, speed)))

    return show


def _table(figures: dict[str, int], speed: str) -> str:
    cells: list[tuple[str, Any]] = [(name, f"{count:,}") for name, count in figures.items()]
    if speed:
        cells.append(("speed", speed))
    names = "".join(f"<th>{html.escape(name)}</th>" for name, _ in cells)
    counts = "".join(f"<td>{html.escape(count)}</td>" for _, count in cells)
    return f"<table><tr>{names}</tr><tr>{counts}</tr></table>"
