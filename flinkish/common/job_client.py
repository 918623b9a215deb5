"""PyFlink's module of the class `JobClient`."""

from typing import TYPE_CHECKING

from flinkish.common.jobs import JobClient
from flinkish.common.pyflink_names import pyflink_names

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["JobClient"]
