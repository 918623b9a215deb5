"""PyFlink's module of the class `InputFormat`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.common.typeinfo import TypeInformation

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """A description of files for ``create_input``."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""

    @abstractmethod
    def input(self) -> Any:
        """The rows that a job reads."""
