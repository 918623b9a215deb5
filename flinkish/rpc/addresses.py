"""Where an endpoint is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from flinkish.common.errors import IllegalArgumentError

__all__ = ["RpcAddress", "check_endpoint_id", "check_service_name", "is_pattern", "matches"]

_NAME = re.compile(r"[\w.\-$]+")
_ADDRESS = re.compile(
    r"(?:flinkish\.tcp://(?P<remote>[^@/\s]+)@(?P<host>\[[^\]/\s]+\]|[^:/\s]+):(?P<port>\d{1,5})"
    r"|flinkish://(?P<local>[^@/\s]+))/user/rpc/(?P<endpoint>[^/\s]+)"
)


@dataclass(frozen=True)
class RpcAddress:
    """A parsed address.

    ``flinkish.tcp://NAME@HOST:PORT/user/rpc/ENDPOINT``, or without ``host`` and ``port`` the local
    ``flinkish://NAME/user/rpc/ENDPOINT``.  NAME is that of the service.  ENDPOINT may be a pattern
    with ``*`` and ``?`` where something is looked up (Flink: PekkoRpcService).
    """

    name: str
    endpoint: str
    host: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> RpcAddress:
        """Read an address; IllegalArgumentError says what is expected."""
        found = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise IllegalArgumentError(
                f"{text!r} is no address: write flinkish.tcp://NAME@HOST:PORT/user/rpc/ENDPOINT "
                "or, within one process, flinkish://NAME/user/rpc/ENDPOINT"
            )
        if found["local"] is not None:
            return cls(found["local"], found["endpoint"])
        port = int(found["port"])
        if not 0 < port < 65536:
            raise IllegalArgumentError(f"{port} in {text!r} is not a port: 1 to 65535")
        return cls(found["remote"], found["endpoint"], found["host"].strip("[]"), port)

    @property
    def service(self) -> str:
        """The part before ``/user/rpc``."""
        if self.host is None:
            return f"flinkish://{self.name}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"flinkish.tcp://{self.name}@{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.service}/user/rpc/{self.endpoint}"


def check_endpoint_id(name: object) -> str:
    """``name`` if it can be part of an address."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise IllegalArgumentError(
            f"an endpoint id is text of letters, digits, '_', '-', '.' and '$', not {name!r}"
        )
    return name


def check_service_name(name: object) -> str:
    """``name`` if it can be part of an address."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise IllegalArgumentError(
            f"the name of a service is text of letters, digits, '_', '-', '.' and '$', not {name!r}"
        )
    return name


def is_pattern(endpoint: str) -> bool:
    """Whether it has wildcards."""
    return "*" in endpoint or "?" in endpoint


def matches(endpoint: str, pattern: str) -> bool:
    """Whether the endpoint's id fits the pattern."""
    return fnmatchcase(endpoint, pattern)
