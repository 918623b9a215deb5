"""The handshake without sockets: what fits, what does not, and what an attacker could try."""

import dataclasses
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.rpc.framing import FrameKind
from flinkish.common.errors import HandshakeError
from flinkish.rpc import handshake as module
from flinkish.rpc.handshake import Handshake, Identity, place_of, secret_key

ALICE = Identity("alice", "a1", 1, None, 1000, 10_000)
BOB = Identity("bob", "b1", 2, ("10.0.0.1", 5000), 2000, 20_000)
BOBS = "10.0.0.1:5000"
KEY = secret_key("a secret")


def sides(mine: bytes = KEY, theirs: bytes = KEY) -> tuple[Handshake, Handshake]:
    return (
        Handshake(ALICE, mine, dialing=True, address="there", places=["bob.example:5000", BOBS]),
        Handshake(BOB, theirs, dialing=False, address="here", places={BOBS}),
    )


def carry(dialer: Handshake, listener: Handshake, steps: int = 4) -> tuple[int, bytes]:
    """Pass frames to and fro; the frame after so many steps."""
    kind, payload = FrameKind.HELLO, dialer.start()
    for step in range(steps - 1):
        answer = (dialer if step % 2 else listener).receive(kind, payload)
        assert answer is not None
        kind, payload = answer
    return kind, payload


def test_both_know_each_other_at_the_end() -> None:
    dialer, listener = sides()
    kind, payload = carry(dialer, listener)
    assert kind == FrameKind.WELCOME
    assert dialer.receive(kind, payload) is None
    assert dialer.peer is not None
    assert listener.peer is not None
    assert (dialer.peer.name, dialer.peer.listens) == ("bob", ("10.0.0.1", 5000))
    assert (dialer.peer.window, dialer.peer.max_frame_size) == (2000, 20_000)
    assert (listener.peer.name, listener.peer.listens) == ("alice", None)
    assert listener.peer.version == dialer.peer.version == 2


def test_the_listener_proves_itself_too() -> None:
    """A false listener that takes any proof still cannot make a WELCOME."""
    dialer, listener = sides()
    carry(dialer, listener, 3)
    with pytest.raises(HandshakeError, match="'bob' does not know the shared secret of 'alice'"):
        dialer.receive(FrameKind.WELCOME, bytes(32))
    assert dialer.peer is None


def test_a_proof_cannot_be_sent_back_to_who_made_it() -> None:
    dialer, listener = sides()
    kind, payload = carry(dialer, listener, 3)
    assert kind == FrameKind.PROOF
    with pytest.raises(HandshakeError):
        dialer.receive(FrameKind.WELCOME, payload)


def test_a_proof_holds_for_one_connection() -> None:
    first = sides()
    kind, replayed = carry(*first, 3)
    second = sides()
    carry(*second, 3)
    with pytest.raises(HandshakeError):
        second[1].receive(kind, replayed)


def test_a_proof_holds_for_one_channel() -> None:
    """Somebody in between has other certificates, so both sides see another channel."""
    dialer, listener = sides()
    dialer.channel, listener.channel = b"certificates of one", b"certificates of another"
    kind, payload = carry(dialer, listener, 3)
    with pytest.raises(HandshakeError, match="or somebody sits between"):
        listener.receive(kind, payload)


@pytest.mark.parametrize("changed", ["window", "frame", "name", "listens", "pid", "to"])
def test_nothing_that_was_said_can_be_changed_on_the_way(changed: str) -> None:
    dialer, listener = sides()
    said = json.loads(dialer.start())
    to = ["6.6.6.6:666", BOBS]
    said[changed] = {"name": "eve", "listens": ["6.6.6.6", 666], "to": to}.get(changed, 9999)
    answer = listener.receive(FrameKind.HELLO, json.dumps(said).encode())
    assert answer is not None
    proof = dialer.receive(*answer)
    assert proof is not None
    with pytest.raises(HandshakeError):
        listener.receive(*proof)


def test_versions_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    dialer, listener = sides()
    hello = json.loads(dialer.start()) | {"versions": [7, 9]}
    with pytest.raises(HandshakeError, match="'bob' speaks protocol versions 2 to 2, and 'alice'"):
        listener.receive(FrameKind.HELLO, json.dumps(hello).encode())
    dialer, listener = sides()
    kind, payload = carry(dialer, listener, 2)
    challenge = json.loads(payload) | {"version": 1}
    with pytest.raises(HandshakeError, match="chose protocol version 1, and 2 to 2 were offered"):
        dialer.receive(kind, json.dumps(challenge).encode())


def test_the_newest_version_that_both_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROTOCOL_VERSIONS", (1, 3))
    dialer, listener = sides()
    hello = json.loads(dialer.start()) | {"versions": [2, 8]}
    _, challenge = listener.receive(FrameKind.HELLO, json.dumps(hello).encode()) or (0, b"")
    assert json.loads(challenge)["version"] == 3


def test_frames_out_of_turn() -> None:
    for kind in FrameKind:
        if kind != FrameKind.HELLO:
            with pytest.raises(HandshakeError, match=r"when HELLO \(64\) was expected"):
                sides()[1].receive(kind, b"")
    dialer, _ = sides()
    dialer.start()
    with pytest.raises(HandshakeError, match="when CHALLENGE"):
        dialer.receive(FrameKind.WELCOME, b"")


BROKEN: list[Callable[[dict[str, object]], object]] = [
    lambda said: [],
    lambda said: said | {"protocol": "http"},
    lambda said: said | {"name": 5},
    lambda said: said | {"name": ""},
    lambda said: said | {"name": "n" * 1000},
    lambda said: said | {"nonce": "ab"},
    lambda said: said | {"nonce": "z" * 64},
    lambda said: said | {"window": 0},
    lambda said: said | {"window": True},
    lambda said: said | {"window": 2**60},
    lambda said: said | {"frame": 1},
    lambda said: said | {"listens": "host:1"},
    lambda said: said | {"listens": ["host", 0]},
    lambda said: said | {"listens": ["host", "1"]},
    lambda said: said | {"versions": [1]},
    lambda said: said | {"versions": ["1", "2"]},
    lambda said: said | {"to": BOBS},
    lambda said: said | {"to": [["10.0.0.1", 5000]]},
    lambda said: {key: value for key, value in said.items() if key != "to"},
    lambda said: {key: value for key, value in said.items() if key != "incarnation"},
    lambda said: {key: value for key, value in said.items() if key != "versions"},
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_introduction(broken: Callable[[dict[str, object]], object]) -> None:
    dialer, listener = sides()
    payload = json.dumps(broken(json.loads(dialer.start()))).encode()
    with pytest.raises(HandshakeError, match=r"not understood|does not say"):
        listener.receive(FrameKind.HELLO, payload)


@given(st.sampled_from(list(FrameKind)), st.binary() | st.text().map(str.encode))
def test_noise_is_refused(kind: FrameKind, noise: bytes) -> None:
    for side in sides():
        side.start()
        with pytest.raises(HandshakeError):
            side.receive(kind, noise)


def test_nested_noise_is_refused() -> None:
    with pytest.raises(HandshakeError, match="not understood"):
        sides()[1].receive(FrameKind.HELLO, b"[" * 4000)


def test_unknown_fields_are_left_alone() -> None:
    """A later version may say more."""
    dialer, listener = sides()
    hello = json.loads(dialer.start()) | {"compression": "zstd"}
    assert listener.receive(FrameKind.HELLO, json.dumps(hello).encode()) is not None


def test_other_secrets() -> None:
    assert secret_key("a") == secret_key(b"a") != secret_key("b")
    dialer, listener = sides(theirs=secret_key("another"))
    kind, payload = carry(dialer, listener, 3)
    with pytest.raises(HandshakeError, match="same secret"):
        listener.receive(kind, payload)


def test_an_identity_is_what_it_says() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALICE.name = "eve"  # type: ignore[misc]


# --- the address, and the keys of records


def test_who_dialled_another_address_was_passed_on() -> None:
    dialer, _ = sides()
    elsewhere = Handshake(BOB, KEY, dialing=False, address="here", places={"10.0.0.1:5001"})
    with pytest.raises(
        HandshakeError, match=r"'alice' dialled 'bob.example:5000', '10.0.0.1:5000' and reached 'bo"
    ):
        elsewhere.receive(FrameKind.HELLO, dialer.start())


def test_a_name_that_the_listener_has_will_do() -> None:
    """A port may be forwarded, if the listener knows the name by which it is dialled."""
    dialer, _ = sides()
    places = {"172.17.0.2:7000", "bob.example:5000"}
    forwarded = Handshake(BOB, KEY, dialing=False, address="here", places=places)
    assert forwarded.receive(FrameKind.HELLO, dialer.start()) is not None


def test_places_are_written_in_one_way() -> None:
    assert place_of(("::ffff:10.0.0.1", 5, 0, 0)) == place_of(("10.0.0.1", 5)) == "10.0.0.1:5"
    assert place_of(("fe80::1%eth0", 5, 0, 2)) == place_of(("FE80:0::1", 5)) == "fe80::1:5"
    assert place_of(("bob.example", 5)) == "bob.example:5"
    assert place_of("/tmp/a.sock") == "unix:/tmp/a.sock"


def test_keys_of_records_are_of_one_direction_of_one_connection() -> None:
    pairs = []
    for _ in range(2):
        dialer, listener = sides()
        dialer.receive(*carry(dialer, listener))
        assert dialer.record_keys() == listener.record_keys()[::-1]
        pairs += [*dialer.record_keys()]
    assert len({*pairs}) == 4
    assert {len(key) for key in pairs} == {16}


def test_keys_of_records_need_the_secret() -> None:
    """All that is seen on the way is not enough: the same words with another secret."""
    dialer, listener = sides()
    dialer.receive(*carry(dialer, listener))
    keys = dialer.record_keys()
    dialer._key = secret_key("another")
    assert not {*keys} & {*dialer.record_keys()}
