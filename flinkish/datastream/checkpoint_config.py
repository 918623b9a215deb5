"""PyFlink's module of the class `CheckpointConfig`."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.settings import CheckpointConfig

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["CheckpointConfig"]
