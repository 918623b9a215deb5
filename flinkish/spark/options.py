"""Settings that every keyed operator on Spark has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.output_tag import OutputTag
from flinkish.spark.plan import StateSettings
from flinkish.time.key_groups import UPPER_BOUND_MAX_PARALLELISM

__all__ = ["OperatorOptions"]


@dataclass(frozen=True)
class OperatorOptions:
    """What `KeyedStream.process` and `KeyedStream.window` take; described there.

    ``processing_time_timers`` None leaves it to the operator.
    """

    uid: str | None
    max_parallelism: int | None
    order: str
    processing_time_timers: bool | None
    null_keys: str | OutputTag
    job_parameters: Mapping[str, str] | None
    state: StateSettings | None

    def check(self) -> None:
        """IllegalArgumentError for a value that cannot be."""
        if self.order not in ("arrival", "timestamp"):
            raise IllegalArgumentError(
                f"order must be 'arrival' or 'timestamp', not {self.order!r}"
            )
        if not isinstance(self.null_keys, OutputTag) and self.null_keys not in ("fail", "drop"):
            raise IllegalArgumentError(
                f"null_keys must be 'fail', 'drop' or an OutputTag, not {self.null_keys!r}"
            )
        groups = self.max_parallelism
        if groups is not None and not 1 <= groups <= UPPER_BOUND_MAX_PARALLELISM:
            raise IllegalArgumentError(
                f"max_parallelism must be from 1 to {UPPER_BOUND_MAX_PARALLELISM}, not {groups}"
            )
