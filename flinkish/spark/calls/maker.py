"""The factory of the operator of `async_map` in a worker, apart from its plan on the driver."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flinkish.common.durations import DurationLike
from flinkish.functions import AsyncRetryStrategy
from flinkish.spark.calls.context import KeyOf
from flinkish.spark.calls.layers import CallLayer
from flinkish.spark.calls.operator import AnswerBatchOperator, AnswerOperator, WarmUp
from flinkish.spark.kept_fields import KeptFields

__all__ = ["Batches", "MakeOperator"]


@dataclass(frozen=True)
class Batches:
    """How many rows make a call, and how long the first of them waits."""

    size: int
    timeout: DurationLike | None
    adaptive: bool


@dataclass(frozen=True)
class MakeOperator:
    """Makes the operator, in the worker."""

    fn: Any
    mode: str
    capacity: int
    timeout: DurationLike | None
    retry: AsyncRetryStrategy | None
    on_failure: Callable[[Any, BaseException, int], Any] | None
    batches: Batches | None = None
    key_of: KeyOf | None = None
    warmup: int = 0
    layers: tuple[CallLayer, ...] = ()
    fields: KeptFields | None = None
    definition: str = field(default_factory=lambda: secrets.token_hex(16))

    def __call__(self) -> AnswerOperator:
        """The operator."""
        settings: dict[str, Any] = {
            "capacity": self.capacity,
            "timeout": self.timeout,
            "retry": self.retry,
            "on_failure": self.on_failure,
            "key_of": self.key_of,
            "layers": self.layers,
            "fields": self.fields,
            "warm_up": WarmUp(self.definition, self.warmup) if self.warmup else None,
        }
        if self.batches is None:
            return AnswerOperator(self.fn, mode=self.mode, read_ahead=None, **settings)
        batches = self.batches
        return AnswerBatchOperator(
            self.fn,
            batch_size=batches.size,
            batch_timeout=batches.timeout,
            adaptive=batches.adaptive,
            **settings,
        )
