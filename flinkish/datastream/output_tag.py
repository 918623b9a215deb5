"""PyFlink's module of output tags."""

from typing import TYPE_CHECKING

from flinkish.common.output_tag import OutputTag
from flinkish.common.pyflink_names import pyflink_names

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["OutputTag"]
