"""The handshake: the names of both, the protocol they speak, and the proof of the secret.

The side that dials sends HELLO, gets CHALLENGE, sends PROOF, gets WELCOME.  HELLO and CHALLENGE
introduce the two sides, with a nonce each, and HELLO says which address was dialled.  A proof is

    HMAC-SHA256(key, role, SHA-256(HELLO), SHA-256(CHALLENGE), channel)

with a key made of the shared secret.  So it holds for these two nonces, for everything that was
said before it (nobody can change a name, a version or a limit on the way), for one role (what the
other side sent cannot be sent back to it), and, over TLS, for the certificates of this channel:
a process in between has another one.  The listener refuses a caller that dialled an address that
is not its own: a process that took over the address of a dead service cannot pass its callers on
to a live one.  The side that dials proves first, so that a stranger who knocks learns nothing that
depends on the secret.

The same HMAC with two other roles makes the keys of the records that follow
(``wire_records.pxd``), one for each direction: without the secret nobody can make a record of this
connection.

No input or output here: payloads go in, payloads come out.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from flinkish._core.rpc.framing import FrameKind
from flinkish.common.errors import HandshakeError

__all__ = [
    "PROTOCOL_VERSIONS",
    "Handshake",
    "Identity",
    "PeerInfo",
    "place_of",
    "secret_key",
]

PROTOCOL_VERSIONS = (2, 2)  # the oldest and the newest that this side speaks
NONCE = 32  # bytes
NAME_LIMIT = 512  # characters
DIALER, LISTENER = b"flinkish dialer\0", b"flinkish listener\0"  # roles of a proof
BY_DIALER, BY_LISTENER = b"flinkish dialer records\0", b"flinkish listener records\0"
RECORD_KEY = 16  # bytes


@dataclass(frozen=True)
class Identity:
    """The description that each side gives of itself.

    ``listens`` is where it can be dialled, None where it cannot; ``window`` how many bytes of
    requests it lets the other side have under way, ``max_frame_size`` the largest frame it takes.
    """

    name: str
    incarnation: str
    pid: int
    listens: tuple[str, int] | None
    window: int
    max_frame_size: int


@dataclass(frozen=True)
class PeerInfo:
    """The other side of a connection.

    ``incarnation`` is random for each service of each process, so a service that came back after
    a crash is not taken for the one before.  ``address`` is that of the connection as text,
    ``listens`` where the peer's service can be dialled, if it can; ``transport`` is ``"tcp"``,
    ``"tls"`` or ``"unix"``.
    """

    name: str
    incarnation: str
    pid: int
    version: int
    address: str
    listens: tuple[str, int] | None
    transport: str
    window: int
    max_frame_size: int


def secret_key(secret: str | bytes) -> bytes:
    """The key that a shared secret stands for."""
    raw = secret.encode() if isinstance(secret, str) else bytes(secret)
    return hmac.digest(b"flinkish rpc secret", raw, "sha256")


def place_of(address: object) -> str:
    """An address of a socket, or that somebody dials, as both sides write it."""
    if not isinstance(address, tuple):
        return f"unix:{address}"
    host, port = address[:2]
    try:
        ip = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return f"{host}:{port}"
    return f"{getattr(ip, 'ipv4_mapped', None) or ip}:{port}"


def _introduce(identity: Identity, nonce: str, **more: object) -> bytes:
    said = {
        "protocol": "flinkish",
        "name": identity.name,
        "incarnation": identity.incarnation,
        "pid": identity.pid,
        "listens": identity.listens,
        "window": identity.window,
        "frame": identity.max_frame_size,
        "nonce": nonce,
        **more,
    }
    return json.dumps(said, separators=(",", ":")).encode()


def _understand(payload: bytes) -> dict[str, Any]:
    """The introduction of the other side, checked field by field; unknown ones are left alone."""
    try:
        said = json.loads(payload)
        fits = (
            isinstance(said, dict)
            and said["protocol"] == "flinkish"
            and all(isinstance(said[key], str) for key in ("name", "incarnation", "nonce"))
            and all(type(said[key]) is int for key in ("pid", "window", "frame"))
            and 0 < len(said["name"]) <= NAME_LIMIT
            and 0 < len(said["incarnation"]) <= NAME_LIMIT
            and len(bytes.fromhex(said["nonce"])) == NONCE
            and 0 < said["window"] < 1 << 50
            and 8192 <= said["frame"] < 1 << 32
        )
        listens = said["listens"]
        if fits and listens is not None:
            host, port = listens
            fits = isinstance(host, str) and type(port) is int and 0 < port < 65536
            said["listens"] = (host, port)
    except (ValueError, KeyError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise HandshakeError(
            "the other side introduced itself in a way that is not understood: it is no flinkish "
            "service, or one of a version too different"
        )
    return dict(said)


class Handshake:
    """One side of a handshake.

    ``places`` are addresses as ``place_of`` writes them: for the side that dials those that it
    means to reach, the one that it was given and the one of its socket; for the listener those that
    are its own.  One of them has to be the same.

    ``channel`` are the fingerprints of the TLS channel, empty without TLS; it is asked for when
    the channel stands.  ``peer`` is None until the other side has proved itself.
    """

    def __init__(
        self,
        identity: Identity,
        key: bytes,
        *,
        dialing: bool,
        address: str,
        places: Collection[str],
    ) -> None:
        self.peer: PeerInfo | None = None
        self.channel = b""
        self.transport = "tcp"
        self._identity = identity
        self._key = key
        self._dialing = dialing
        self._address = address
        self._places = places
        self._nonce = secrets.token_hex(NONCE)
        self._hello = b""
        self._challenge = b""
        self._said: dict[str, Any] = {}
        self._version = 0
        self._expected = FrameKind.CHALLENGE if dialing else FrameKind.HELLO

    def start(self) -> bytes:
        """The HELLO of the side that dials."""
        self._hello = _introduce(
            self._identity, self._nonce, versions=PROTOCOL_VERSIONS, to=[*self._places]
        )
        return self._hello

    def record_keys(self) -> tuple[bytes, bytes]:
        """Keys of the records that this side makes, and of those that it gets; at the end."""
        mine, theirs = BY_LISTENER, BY_DIALER
        if self._dialing:
            mine, theirs = theirs, mine
        return self._proof(mine)[:RECORD_KEY], self._proof(theirs)[:RECORD_KEY]

    def receive(self, kind: int, payload: bytes) -> tuple[FrameKind, bytes] | None:
        """Take the other side's next frame; what to send now, if anything.

        HandshakeError where the two sides do not fit.
        """
        if kind != self._expected:
            raise HandshakeError(
                f"a frame of kind {kind} came when {self._expected.name} ({int(self._expected)}) "
                "was expected: the other side does not follow the protocol"
            )
        if kind == FrameKind.HELLO:
            return self._on_hello(payload)
        if kind == FrameKind.CHALLENGE:
            return self._on_challenge(payload)
        if kind == FrameKind.PROOF:
            self._verify(DIALER, payload)
            return FrameKind.WELCOME, self._proof(LISTENER)
        self._verify(LISTENER, payload)
        return None

    def _on_hello(self, payload: bytes) -> tuple[FrameKind, bytes]:
        self._hello = payload
        self._said = _understand(payload)
        versions = self._said.get("versions")
        if not isinstance(versions, list) or [type(v) for v in versions] != [int, int]:
            raise HandshakeError("the other side does not say which protocol versions it speaks")
        oldest, newest = PROTOCOL_VERSIONS
        self._version = min(newest, versions[1])
        if self._version < max(oldest, versions[0]):
            raise HandshakeError(
                f"the service {self._identity.name!r} speaks protocol versions {oldest} to "
                f"{newest}, and {self._said['name']!r} speaks {versions[0]} to {versions[1]}: "
                "install versions of flinkish that are closer to each other"
            )
        self._check_place(self._said.get("to"))
        self._challenge = _introduce(self._identity, self._nonce, version=self._version)
        self._expected = FrameKind.PROOF
        return FrameKind.CHALLENGE, self._challenge

    def _check_place(self, dialled: object) -> None:
        if not isinstance(dialled, list) or not all(isinstance(place, str) for place in dialled):
            raise HandshakeError("the other side does not say which address it dialled")
        if not any(place in self._places for place in dialled):
            raise HandshakeError(
                f"{self._said['name']!r} dialled {', '.join(map(repr, dialled[:2]))} and reached "
                f"{self._identity.name!r}, which is at {', '.join(sorted(self._places))}: it is "
                "not the service that was meant, or somebody sits between them. Where a port is "
                "forwarded, dial the address that the service itself names"
            )

    def _on_challenge(self, payload: bytes) -> tuple[FrameKind, bytes]:
        self._challenge = payload
        self._said = _understand(payload)
        self._version = self._said.get("version", 0)
        oldest, newest = PROTOCOL_VERSIONS
        if type(self._version) is not int or not oldest <= self._version <= newest:
            raise HandshakeError(
                f"the other side chose protocol version {self._version!r}, and {oldest} to "
                f"{newest} were offered"
            )
        self._expected = FrameKind.WELCOME
        return FrameKind.PROOF, self._proof(DIALER)

    def _proof(self, role: bytes) -> bytes:
        said = hashlib.sha256(self._hello).digest() + hashlib.sha256(self._challenge).digest()
        return hmac.digest(self._key, role + said + self.channel, "sha256")

    def _verify(self, role: bytes, proof: bytes) -> None:
        if not hmac.compare_digest(proof, self._proof(role)):
            raise HandshakeError(
                f"{self._said['name']!r} does not know the shared secret of "
                f"{self._identity.name!r}, or somebody sits between them: give both services the "
                "same secret"
            )
        said = self._said
        self.peer = PeerInfo(
            name=said["name"],
            incarnation=said["incarnation"],
            pid=said["pid"],
            version=self._version,
            address=self._address,
            listens=said["listens"],
            transport=self.transport,
            window=said["window"],
            max_frame_size=said["frame"],
        )
