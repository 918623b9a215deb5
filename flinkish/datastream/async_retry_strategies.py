"""PyFlink's module of retry strategies."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.functions.async_retry import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

NO_RETRY_STRATEGY = NoRetryStrategy()

__all__ = [
    "NO_RETRY_STRATEGY",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]
