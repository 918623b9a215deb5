"""PyFlink's module of the names `DeliveryGuarantee`, `Sink`, `Source`."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.connectors.base import DeliveryGuarantee, Sink, Source

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
