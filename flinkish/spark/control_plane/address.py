"""Where a control plane is, and how it is spoken to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from flinkish.rpc import TlsConfig

__all__ = ["PlaneAddress"]


@dataclass(frozen=True)
class PlaneAddress:
    """All that a worker needs to reach a plane.  It carries keys: it is for workers alone."""

    plane: str
    address: str
    interval_ms: int
    timeout_ms: int
    secret: str = field(repr=False)
    tls: TlsConfig | Literal["plaintext"] | None = field(repr=False, default=None)
