"""Encryption: TLS 1.3 with certificates on both sides.

A certificate is a card of membership: a peer that shows one that the common authority (``ca``) has
signed belongs to the application.  Host names are not compared, since workers run anywhere; so the
authority should be the application's own.  Files are read when a service starts: to rotate keys,
replace the files and restart, one service after the other while ``ca`` holds both authorities.
"""

from __future__ import annotations

import hashlib
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import HandshakeError, IllegalArgumentError, MissingDependencyError

__all__ = ["TlsConfig", "TlsSession", "is_tls"]

PEM = "-----BEGIN"
ALERT, HANDSHAKE = 0x15, 0x16  # types of the first record of either side
LARGEST_RECORD = (1 << 14) + 2048  # bytes of a record of any version


def is_tls(start: bytes) -> bool:
    """Whether a stream that starts so is one of TLS, and no frame of the handshake.

    A record starts with its type, its version 3.1 to 3.4 and its length.  The third byte decides:
    it is the third of a frame's length, too, and 0 there, since a frame of the handshake has at
    most ``CONTROL_LIMIT`` bytes.
    """
    if len(start) < 3 or start[0] not in (ALERT, HANDSHAKE) or start[1] != 3:
        return False
    length = int.from_bytes(start[3:5], "big") if len(start) >= 5 else 1
    return 1 <= start[2] <= 4 and 0 < length <= LARGEST_RECORD


@contextmanager
def _as_file(pem: str) -> Iterator[str]:
    """A path to this text, which is never written to a disk."""
    fd = os.memfd_create("flinkish-pem", os.MFD_CLOEXEC)
    try:
        os.write(fd, pem.encode())
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def _is_text(source: str | os.PathLike[str]) -> bool:
    return os.fspath(source).lstrip().startswith(PEM)


@dataclass(frozen=True, repr=False)
class TlsConfig:
    """A certificate, its private key, and the authority that signed those of both sides.

    Each is the path of a PEM file, or PEM text.  Objects can be pickled; one made of PEM text
    carries its key along, so it should travel only where the key may be known.
    """

    certificate: str | os.PathLike[str]
    key: str | os.PathLike[str]
    ca: str | os.PathLike[str]

    def __repr__(self) -> str:
        shown = ("PEM text" if _is_text(part) else repr(part) for part in self._parts())
        return "TlsConfig({}, {}, {})".format(*shown)

    def _parts(self) -> tuple[str | os.PathLike[str], ...]:
        return self.certificate, self.key, self.ca

    @classmethod
    def ephemeral(cls, valid_for: DurationLike = timedelta(days=365)) -> TlsConfig:
        """A new certificate with a new authority, for one application and in memory only.

        The authority's own key is forgotten at once, so there will never be another certificate
        of it.  Needs the package ``cryptography`` (extra ``rpc``).
        """
        millis = to_millis(valid_for, "valid_for", minimum=1)
        try:
            from cryptography import x509
            from cryptography.hazmat.primitives import hashes, serialization
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError as error:
            raise MissingDependencyError.of(
                "cryptography", feature="TlsConfig.ephemeral", extra="rpc"
            ) from error
        now = datetime.now(timezone.utc)
        authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

        def certificate(name: str, public: ec.EllipticCurvePublicKey, ca: bool) -> x509.Certificate:
            subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
            issuer = x509.Name(
                [x509.NameAttribute(x509.NameOID.COMMON_NAME, "flinkish application")]
            )
            authority = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
            return (
                x509.CertificateBuilder()
                .subject_name(subject)
                .issuer_name(issuer)
                .public_key(public)
                .serial_number(x509.random_serial_number())
                .not_valid_before(now - timedelta(days=1))  # clocks differ between hosts
                .not_valid_after(now + timedelta(milliseconds=millis))
                .add_extension(x509.BasicConstraints(ca, 0 if ca else None), critical=True)
                .add_extension(
                    x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False),
                    critical=True,
                )
                .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
                .add_extension(
                    x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority),
                    critical=False,
                )
                .sign(authority_key, hashes.SHA256())
            )

        pem = serialization.Encoding.PEM
        ca = certificate("flinkish application", authority_key.public_key(), True)
        leaf = certificate("flinkish service", key.public_key(), False)
        private = key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return cls(leaf.public_bytes(pem).decode(), private.decode(), ca.public_bytes(pem).decode())

    def read(self) -> TlsConfig:
        """The same as PEM text, whatever becomes of the files; errors as of ``context``."""
        try:
            return TlsConfig(
                *(
                    os.fspath(part) if _is_text(part) else Path(part).read_text(encoding="ascii")
                    for part in self._parts()
                )
            )
        except (OSError, ValueError) as error:
            raise _unusable(error) from error

    def context(self, *, dialing: bool) -> ssl.SSLContext:
        """The settings of TLS sessions of one role.

        IllegalArgumentError where a file is missing, or the three do not fit together.
        """
        text = self.read()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if dialing else ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        if not dialing:
            context.num_tickets = 0  # nobody resumes a session here
        try:
            with _as_file(str(text.certificate)) as certificate, _as_file(str(text.key)) as key:
                context.load_cert_chain(certificate, key, password=_no_password)
            context.load_verify_locations(cadata=str(text.ca))
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise _unusable(error) from error
        return context

    def fingerprint(self) -> bytes:
        """The SHA-256 fingerprint of the certificate."""
        text, end = str(self.read().certificate), "-----END CERTIFICATE-----"
        leaf = text[text.index("-----BEGIN CERTIFICATE-----") : text.index(end) + len(end)]
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(leaf)).digest()


def _unusable(error: Exception) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"TlsConfig(certificate, key, ca) cannot be used: {error}; it needs PEM files (or PEM "
        "text) of a certificate, its unencrypted private key, and the authority that signed it"
    )


def _no_password() -> str:
    raise ValueError("the private key is encrypted")


class TlsSession:
    """The TLS of one connection, without its socket; for the I/O thread, but for ``proceed``.

    Two threads on one ``SSLSocket`` can deadlock, and race in CPython 3.13; here one thread moves
    bytes between an ``SSLObject`` and the socket.
    """

    def __init__(self, fingerprint: bytes, context: ssl.SSLContext, *, dialing: bool) -> None:
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.established = False  # as of the connection, which sets it
        self._fingerprint = fingerprint  # of our certificate
        self._dialing = dialing
        self._object = context.wrap_bio(self.incoming, self.outgoing, server_side=not dialing)

    def proceed(self) -> bool:
        """Go on with the handshake of TLS, on any one thread; whether the session stands now."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise self._refused(error) from error
        return True

    def channel(self) -> bytes:
        """Fingerprints of the certificates of this session: the listener's, then the dialer's."""
        mine = self._fingerprint
        theirs = hashlib.sha256(self._object.getpeercert(binary_form=True) or b"").digest()
        return theirs + mine if self._dialing else mine + theirs

    def decrypt(self, buffer: bytearray) -> int:
        """Read what came in into the buffer: bytes, 0 for a closed session, -1 for not yet."""
        try:
            return self._object.read(len(buffer), buffer)  # type: ignore[return-value]
        except ssl.SSLWantReadError:
            return -1
        except ssl.SSLZeroReturnError:
            return 0
        except ssl.SSLError as error:
            raise self._refused(error) from error

    def encrypt(self, data: object) -> int:
        """Write bytes to the other side, all of them."""
        return self._object.write(data)  # type: ignore[arg-type]

    def _refused(self, error: ssl.SSLError) -> HandshakeError:
        reason = (error.reason or str(error)).lower().replace("_", " ")
        if isinstance(error, ssl.SSLCertVerificationError):
            return HandshakeError(
                f"the other side's certificate is refused: {error.verify_message}; both services "
                "need a certificate of the same authority that is valid now (TlsConfig)"
            )
        if "alert" in reason:
            return HandshakeError(
                f"the other side refused our certificate or TLS ({reason}): both services need a "
                "certificate of the same authority that is valid now (TlsConfig)"
            )
        return HandshakeError(
            f"TLS failed ({reason}): the other side may not use TLS; give both services tls=..."
        )
