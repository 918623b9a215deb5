"""PyFlink's module of conversions, of which programs take `ResultTypeQueryable`."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.common.serialization import ResultTypeQueryable

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["ResultTypeQueryable"]
