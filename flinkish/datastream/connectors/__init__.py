"""PyFlink's modules of connectors."""

from flinkish.environment.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
