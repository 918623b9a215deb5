"""PyFlink's module of the class `InputFormat`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from flinkish.common.pyflink_names import pyflink_names
from flinkish.common.typeinfo import TypeInformation

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """A description of files for ``create_input``."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""

    @abstractmethod
    def input(self) -> Any:
        """The rows that a job reads."""
