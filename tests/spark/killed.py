"""What programs that are killed write: a file for each micro-batch, and no more than they may.

Who kills a program says in WORK/most how many files there may be (see killing.py).  The kill that
follows then meets a query at work, and never one that has ended, however fast or slow all is.
"""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from flinkish.common import OutputTag

_ONE_AT_A_TIME = threading.Lock()


def put(work: Path, name: str, rows: Any) -> None:
    """Write WORK/out/NAME.json, whole or not at all; wait to be killed where that is one too many.

    A file that a killed program wrote for the same micro-batch is written again.
    """
    out, most = work / "out", work / "most"
    hidden, file = out / f".{name}-{os.getpid()}", out / f"{name}.json"
    with _ONE_AT_A_TIME:
        if most.exists() and not file.exists() and written(out) >= int(most.read_text()):
            threading.Event().wait()
        out.mkdir(exist_ok=True)
        hidden.write_text(json.dumps(rows, default=str))
        hidden.rename(file)


def written(out: Path) -> int:
    """How many files there are."""
    return len(list(out.glob("*.json")))


def into_files(work: Path, *tags: OutputTag, prefix: str = "") -> Callable[..., None]:
    """What writes a file for each micro-batch, with the main output and those of the tags."""

    def write(batch: int, *frames: DataFrame) -> None:
        names = ["", *(tag.tag_id for tag in tags)]
        rows = {
            name: [list(row) for row in frame.collect()]
            for name, frame in zip(names, frames, strict=True)
        }
        put(work, f"{prefix}{batch:03}", rows)

    return write
