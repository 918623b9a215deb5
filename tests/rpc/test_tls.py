"""Certificates: whose are accepted, whose are not, and what the errors say."""

import pickle
import socket
import ssl
import threading
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from flinkish.common.errors import (
    HandshakeError,
    IllegalArgumentError,
    RpcConnectionError,
)
from flinkish.rpc.tls import TlsConfig, TlsSession
from flinkish.rpc.transport import Transport
from tests.rpc.transport_rig import SECRET, Recorder, pair
from tests.waiting import PATIENCE, until

PEM = serialization.Encoding.PEM
NOW = datetime.now(timezone.utc)
DAY = timedelta(days=1)


class Authority:
    """Signs what a test asks for."""

    def __init__(self, name: str = "authority") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.certificate = self.sign(self.name, self.key, -DAY, DAY, ca=True)

    def sign(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        start: timedelta,
        end: timedelta,
        *,
        ca: bool = False,
    ) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW + start)
            .not_valid_after(NOW + end)
            .add_extension(x509.BasicConstraints(ca, None), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def issue(self, *, start: timedelta = -DAY, end: timedelta = DAY) -> TlsConfig:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "service")])
        private = key.private_bytes(
            PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return TlsConfig(
            self.sign(name, key, start, end).public_bytes(PEM).decode(),
            private.decode(),
            self.certificate.public_bytes(PEM).decode(),
        )


def fail_to_connect(server: Any, client: Any) -> tuple[Exception, Transport]:
    """The client's error, and the server's transport, closed."""
    options = {"secret": SECRET, "unix_sockets": False}
    first = Transport("server", Recorder(), host="127.0.0.1", tls=server, **options)
    second = Transport("client", Recorder(), tls=client, **options)
    with pytest.raises(RpcConnectionError) as caught:
        second.dial(first.listen()).result(PATIENCE)
    until(lambda: first.statistics().handshakes_refused == 1)
    second.close().result(PATIENCE)
    first.close().result(PATIENCE)
    return caught.value, first


def test_certificates_of_one_authority() -> None:
    authority = Authority()
    with pair(tls=authority.issue(), server={"tls": authority.issue()}, unix_sockets=False) as two:
        peer = two.dial().peer
        assert peer is not None
        assert peer.transport == "tls"


def test_no_handshake_of_tls_is_made_on_the_io_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes long, and anybody may ask for one."""
    honest, names = TlsSession.proceed, list[str]()

    def proceed(self: TlsSession) -> bool:
        names.append(threading.current_thread().name)
        return honest(self)

    monkeypatch.setattr(TlsSession, "proceed", proceed)
    with pair(tls=TlsConfig.ephemeral(), unix_sockets=False) as two:
        assert two.dial().peer is not None
    assert {*names} == {"flinkish-rpc-tls"}


def test_a_connection_that_ends_while_its_handshake_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step is made to its end, and nobody takes it up."""
    honest, stepping, ended = TlsSession.proceed, threading.Event(), threading.Event()

    def proceed(self: TlsSession) -> bool:
        stepping.set()
        assert ended.wait(PATIENCE)
        return honest(self)

    monkeypatch.setattr(TlsSession, "proceed", proceed)
    with pair(tls=TlsConfig.ephemeral(), unix_sockets=False) as two:
        dialled = two.client.dial(two.server.listen())
        assert stepping.wait(PATIENCE)
        closed = two.client.close()
        with pytest.raises(RpcConnectionError, match="was closed"):
            dialled.result(PATIENCE)
        ended.set()
        closed.result(PATIENCE)
    assert not two.there.connected


def test_files(tmp_path: Path) -> None:
    config = TlsConfig.ephemeral()
    for name in ("certificate", "key", "ca"):
        (tmp_path / f"{name}.pem").write_text(str(getattr(config, name)))
    files = TlsConfig(tmp_path / "certificate.pem", tmp_path / "key.pem", tmp_path / "ca.pem")
    assert str(tmp_path / "key.pem") in repr(files)
    with pair(tls=files, unix_sockets=False) as two:
        for name in ("certificate", "key", "ca"):
            (tmp_path / f"{name}.pem").write_text("files count when a service starts only")
        assert two.dial().peer is not None


def test_an_ephemeral_certificate_travels_and_hides_its_key() -> None:
    config = TlsConfig.ephemeral()
    assert pickle.loads(pickle.dumps(config)) == config
    assert repr(config) == "TlsConfig(PEM text, PEM text, PEM text)"
    certificate = x509.load_pem_x509_certificate(str(config.certificate).encode())
    left = certificate.not_valid_after_utc - NOW  # whoever sets the clock meanwhile
    assert timedelta(days=364) < left < timedelta(days=366)
    short = TlsConfig.ephemeral("2 hours")
    certificate = x509.load_pem_x509_certificate(str(short.certificate).encode())
    assert certificate.not_valid_after_utc < datetime.now(timezone.utc) + timedelta(hours=3)


def test_a_foreign_certificate() -> None:
    error, _ = fail_to_connect(TlsConfig.ephemeral(), TlsConfig.ephemeral())
    assert isinstance(error, HandshakeError)
    assert "the other side's certificate is refused" in str(error)
    assert "of the same authority" in str(error)


def test_a_stranger_who_trusts_us_is_still_a_stranger() -> None:
    """It knows our authority, and shows a certificate of its own."""
    ours, foreign = TlsConfig.ephemeral(), TlsConfig.ephemeral()
    error, _ = fail_to_connect(ours, TlsConfig(foreign.certificate, foreign.key, ours.ca))
    assert isinstance(error, HandshakeError)
    assert "refused our certificate" in str(error)


@pytest.mark.parametrize("side", ["server", "client"])
def test_an_expired_certificate(side: str) -> None:
    authority = Authority()
    good = authority.issue()
    old = authority.issue(start=-2 * DAY, end=-DAY)
    error, _ = fail_to_connect(old if side == "server" else good, good if side == "server" else old)
    assert isinstance(error, HandshakeError)
    assert "expired" in str(error)


def test_one_side_without_tls() -> None:
    error, _ = fail_to_connect(TlsConfig.ephemeral(), None)
    assert isinstance(error, HandshakeError)
    assert "it may want TLS" in str(error)
    error, _ = fail_to_connect("plaintext", TlsConfig.ephemeral())
    assert "it may not use TLS" in str(error)


@pytest.mark.parametrize("broken", ["certificate", "key", "ca"])
def test_files_that_are_missing_or_do_not_fit(tmp_path: Path, broken: str) -> None:
    good, other = TlsConfig.ephemeral(), TlsConfig.ephemeral()
    parts = {name: getattr(good, name) for name in ("certificate", "key", "ca")}
    missing = TlsConfig(**(parts | {broken: tmp_path / "missing.pem"}))
    with pytest.raises(IllegalArgumentError, match=r"No such file.*it needs PEM files"):
        Transport("x", Recorder(), secret=SECRET, tls=missing)
    if broken != "ca":
        mixed = TlsConfig(**(parts | {broken: getattr(other, broken)}))
        with pytest.raises(IllegalArgumentError, match="cannot be used"):
            Transport("x", Recorder(), secret=SECRET, tls=mixed)


def test_an_encrypted_key_is_refused_without_asking_on_the_terminal() -> None:
    good = TlsConfig.ephemeral()
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"word")
    )
    locked = TlsConfig(good.certificate, key.decode(), good.ca)
    with pytest.raises(IllegalArgumentError, match="the private key is encrypted"):
        Transport("x", Recorder(), secret=SECRET, tls=locked)


def test_off_this_host_encryption_is_the_rule() -> None:
    """A wildcard address is not loopback, though here it is reached through it."""
    open_to_all = {"secret": SECRET, "host": "0.0.0.0", "unix_sockets": False}
    server = Transport("server", Recorder(), **open_to_all)
    assert isinstance(server.tls, TlsConfig), "made for the occasion"
    _, port = server.listen()
    client = Transport("client", Recorder(), secret=SECRET, tls=server.tls, unix_sockets=False)
    peer = client.dial(("127.0.0.1", port)).result(PATIENCE).peer
    assert peer is not None
    assert peer.transport == "tls"
    stranger = Transport("stranger", Recorder(), secret=SECRET)
    with pytest.raises(IllegalArgumentError, match=r"10\.1\.2\.3:5000 is not on this host.*plain"):
        stranger.dial(("10.1.2.3", 5000)).result(PATIENCE)
    for transport in (client, stranger, server):
        transport.close().result(PATIENCE)
    assert Transport("x", Recorder(), **open_to_all, tls="plaintext").tls == "plaintext"


def relay(source: ssl.SSLSocket, target: ssl.SSLSocket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for sock in (source, target):
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def test_somebody_in_between_with_a_certificate_of_the_application() -> None:
    """It can talk TLS with both sides and pass on what they say, and they still notice."""
    authority = Authority()
    server = Transport(
        "server",
        Recorder(),
        secret=SECRET,
        host="127.0.0.1",
        tls=authority.issue(),
        unix_sockets=False,
    )
    client = Transport(
        "client", Recorder(), secret=SECRET, tls=authority.issue(), unix_sockets=False
    )
    in_between = authority.issue()

    def pass_on() -> None:
        accepted, _ = trap.accept()
        with (
            in_between.context(dialing=False).wrap_socket(accepted, server_side=True) as left,
            socket.create_connection(server.listen()) as raw,
            in_between.context(dialing=True).wrap_socket(raw) as right,
        ):
            there = threading.Thread(target=relay, args=(left, right))
            there.start()
            relay(right, left)
            there.join()

    with socket.create_server(("127.0.0.1", 0)) as trap:
        thread = threading.Thread(target=pass_on)
        thread.start()
        with pytest.raises(HandshakeError, match="or somebody sits between them"):
            client.dial(trap.getsockname()).result(PATIENCE)
        thread.join()
    assert server.statistics().connections == client.statistics().connections == 0
    client.close().result(PATIENCE)
    server.close().result(PATIENCE)
