"""Sources and sinks, as programs know them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.nodes import Act

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = ["DeliveryGuarantee", "Sink", "Source"]


class Source(ABC):
    """A description of where elements come from."""

    knows_times: ClassVar[bool] = False
    """Whether elements have timestamps before a strategy says any."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""

    @abstractmethod
    def input(self) -> Input:
        """The rows that a job reads."""


class Sink(ABC):
    """A description of where elements go to."""

    @abstractmethod
    def writer(self, kind: TypeInformation | None) -> Act:
        """The function that writes the elements, of this type, of a round."""


class DeliveryGuarantee(Enum):
    """How often a sink may write an element if tasks or jobs fail."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2
