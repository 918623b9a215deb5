"""The useful lines of a failed query, out of a hundred of Spark's and Python's stacks.

Spark hands an error of a worker on as text, in which tracebacks lie between its own lines: that of
the task, within that of `foreachBatch`, within the description of a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from traceback import format_exception

from flinkish.common.errors import FlinkishError

__all__ = ["explain_error"]

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'  File "(?P<file>.+)", line \d+, in .+')
_CHAINED = ("The above exception", "During handling")
# What follows the text of an error: Spark's, and Python's between the errors of a chain.
_AFTER = re.compile(
    r" SQLSTATE: |=== Streaming Query ===|\t(at |\.\.\. )|Driver stacktrace:|JVM stacktrace:"
    r"|Caused by: |The above exception was the direct cause|During handling of the above"
)
# Notes of operators and tasks, and errors that flinkish itself raised.
_OURS = re.compile(r"raised in (operator|task) |flinkish\.[\w.]+: ")
_PACKAGE = Path(__file__).parents[1]
_ROOMS = "|".join(sorted(room.name for room in _PACKAGE.iterdir() if room.is_dir()))
# Workers may have them in other places than the driver.
_MACHINERY = re.compile(rf"(.*[/\\])?(flinkish[/\\]({_ROOMS})|pyspark(\.zip)?|py4j)[/\\]|<frozen ")
_INSTALLED = re.compile(r".*[/\\](site-packages|dist-packages|lib[/\\]python3[^/\\]*)[/\\]", re.I)

# Spark's name of a condition, and what it says of it.
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_]+(\.[A-Z0-9_]+)*\] .*")

NOT_OURS = "no operator or task of flinkish raised this"


@dataclass
class _Raised:
    """A traceback in a text: its frames with their lines of code, and what the error says."""

    frames: list[list[str]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    cause: _Raised | None = None

    @property
    def ours(self) -> bool:
        return any(_OURS.match(line) for line in self.said)

    def users(self) -> list[str]:
        """The frames in code of the user; of modules that are installed if there are no others."""
        files = [_FRAME.fullmatch(frame[0]) for frame in self.frames]
        found = [
            (file["file"], frame)
            for file, frame in zip(files, self.frames, strict=True)
            if file and not _MACHINERY.match(file["file"])
        ]
        own = [(file, frame) for file, frame in found if not _INSTALLED.match(file)]
        return [line for _, frame in own or found for line in frame]


def explain_error(error: BaseException) -> str:
    """The lines that matter of an error: where in the user's code, what, and in which operator.

    It reads as the end of a traceback: the frames in code of the user, what was raised, and the
    notes of flinkish with the operator's uid, the key, the element and its time as a date, as far
    as they are known.  Takes what an action on a DataFrame raises, and what `query.exception()` or
    `awaitTermination` gives; on Spark Connect, too, unless the server cuts its messages.  Of an
    error that no operator of flinkish raised it says so.
    """
    found = [raised for text in _texts(error) for raised in _tracebacks(text)]
    ours = [raised for raised in found if raised.ours]
    if ours:
        chosen: _Raised | None = ours[-1]
        while chosen is not None and not (frames := chosen.users()):
            chosen = chosen.cause
        return "\n".join(frames + ours[-1].said)
    if found:
        return "\n".join([*found[-1].users(), *found[-1].said, NOT_OURS])
    return f"{type(error).__name__}: {_said_by_spark(error)}\n{NOT_OURS}"


def _said_by_spark(error: BaseException) -> str:
    """The line of the last cause that Spark has a name for; the first line if there is none.

    Py4J puts the stack of the JVM, with the causes in it, into the text of its error.
    """
    lines = str(error).splitlines()
    named = [found for line in lines if (found := _CONDITION.search(line))]
    return named[-1].group() if named else next(iter(lines), "")


def _texts(error: BaseException) -> Iterator[str]:
    """The texts in which tracebacks of workers may be, and that of an error of this process."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield str(cause)
        if isinstance(cause, FlinkishError):
            yield "".join(format_exception(cause, chain=False))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _tracebacks(text: str) -> Iterator[_Raised]:
    """The tracebacks in a text, in their order."""
    raised: _Raised | None = None
    cause: _Raised | None = None
    for line in text.splitlines():
        if line.endswith(_TRACEBACK):
            if raised is not None:
                yield raised
            raised, cause = _Raised(cause=cause), None
        elif raised is None:
            continue
        elif raised.said and _AFTER.match(line):
            yield raised
            raised, cause = None, raised if line.startswith(_CHAINED) else None
        elif raised.said or not line.startswith("  "):
            if line.strip():
                raised.said.append(line)
        elif _FRAME.fullmatch(line):
            raised.frames.append([line])
        elif raised.frames:  # the code of a frame, and the marks below it
            raised.frames[-1].append(line)
    if raised is not None:
        yield raised
