"""PyFlink's module of the names `DeliveryGuarantee`, `Sink`, `Source`."""

from flinkish.environment.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
