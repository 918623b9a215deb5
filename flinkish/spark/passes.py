"""Passes of a program's operators over rows that lie in batch DataFrames.

A program in Flink's streaming mode runs its operators over one set of rows at a time: all rows of
bounded sources at once, or those of one micro-batch after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flinkish.spark.kept_fields import FieldStore, KeptFields

__all__ = ["JobScope", "Pass"]


@dataclass(frozen=True)
class JobScope:
    """The parameters and the counts that all operators of a program's job share.

    ``parameters`` are those that functions ask their runtime context for.  A task gives its counts
    to ``count`` when it has ended without an error: sums by the uid of the operator and a name,
    joined with a dot.  Without it, on Spark Connect, workers cannot tell the driver.  ``tasks`` are
    those of the next keyed operator; None for as many as the pass says, or Spark.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    count: Callable[[dict[str, int]], None] | None = None
    tasks: int | None = None


@dataclass(frozen=True)
class Pass:
    """One pass over rows, in which the operators see them as Flink's streaming mode would.

    If it is ``bounded``, these are all rows that there are: operators handle them in order of
    arrival, then the watermark is the highest, and state is of this run.  Else they are those of a
    micro-batch, whose operators keep their state in files versioned by batch.

    ``fields`` carries the fields that functions changed from one pass to the next.

    ``partitions`` are the tasks that share the work of an operator.  ``token`` stands for the run
    of the program, which was ``defined_ms`` after 1970: an operator is the same one in each pass.
    """

    partitions: int
    bounded: bool
    token: str
    defined_ms: int
    fields: FieldStore | None = None

    def fields_of(self, uid: str) -> KeptFields | None:
        """The fields of an operator's functions from the pass before; None in a bounded pass."""
        return None if self.fields is None else self.fields.of(uid)

    def definition_of(self, uid: str) -> str:
        """The text that tells an operator of this program from one of the same name."""
        return sha256(f"{self.token} {uid}".encode()).hexdigest()[:32]
