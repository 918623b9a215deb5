"""Parties of versions N and N+1 of a gateway."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest

from flinkish.common.errors import HandshakeError, RpcConnectionError, RpcError
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService
from flinkish.rpc.gateway import schema_of
from flinkish.rpc.remote import OpenRequest
from flinkish.rpc.wire import encode_plain

from .rig import SOON

SECRET = "a secret of the tests"


@pytest.fixture
def pair() -> Iterator[tuple[RpcService, RpcService]]:
    with (
        RpcService("server", host="127.0.0.1", secret=SECRET) as server,
        RpcService("client", secret=SECRET) as client,
    ):
        yield server, client


def old() -> tuple[type[Any], type[Any], type[Any]]:
    @dataclass
    class Job:
        name: str

    class MasterGateway(RpcGateway):
        def submit(self, job: Job) -> Future[str]: ...
        def cancel(self, name: str) -> Future[bool]: ...
        def ping(self) -> None: ...

    class Master(RpcEndpoint, MasterGateway):
        def submit(self, job: Any) -> Any:
            return f"{job.name} at {getattr(job, 'priority', 'no')} priority"

        def cancel(self, name: str) -> Any:
            return True

        def ping(self) -> None: ...

    return MasterGateway, Master, Job


def new() -> tuple[type[Any], type[Any], type[Any]]:
    @dataclass
    class Job:
        name: str
        priority: int = 3

    class MasterGateway(RpcGateway):
        def submit(self, job: Job, queue: str = "default") -> Future[str]: ...
        def describe(self) -> Future[str]: ...
        def ping(self) -> None: ...

    class Master(RpcEndpoint, MasterGateway):
        def submit(self, job: Any, queue: str = "default") -> Any:
            return f"{job.name} at {job.priority} in {queue}"

        def describe(self) -> Any:
            return "new"

        def ping(self) -> None: ...

    return MasterGateway, Master, Job


def connected(pair: tuple[RpcService, RpcService], there: Any, here: Any) -> Any:
    server, client = pair
    master = there[1](server, "master")
    master.start()
    return client.connect(master.address, here[0]).result(SOON)


def test_an_old_caller_and_a_new_endpoint(pair: tuple[RpcService, RpcService]) -> None:
    """E.25: a method that is not there any more."""
    here = old()
    gateway = connected(pair, new(), here)
    # Added parameter and added field have their defaults.
    assert gateway.submit(here[2]("j")).result(SOON) == "j at 3 in default"
    gateway.ping()
    with pytest.raises(RpcConnectionError, match=r"Could not find rpc method 'cancel'.*version"):
        gateway.cancel("j")
    assert gateway.submit(here[2]("k")).result(SOON) == "k at 3 in default"


def test_a_new_caller_and_an_old_endpoint(pair: tuple[RpcService, RpcService]) -> None:
    here = new()
    gateway = connected(pair, old(), here)
    assert gateway.submit(here[2]("j", 7)).result(SOON) == "j at no priority"
    with pytest.raises(RpcConnectionError, match="Could not find rpc method 'describe'"):
        gateway.describe()


def test_equal_schemas_agree_on_numbers() -> None:
    assert schema_of(old()[0]).hash == schema_of(old()[0]).hash != schema_of(new()[0]).hash
    assert schema_of(new()[0]).names == ["describe", "ping", "submit"]


def test_another_type_is_a_clear_error(pair: tuple[RpcService, RpcService]) -> None:
    class MasterGateway(RpcGateway):
        def submit(self, job: int) -> Future[str]: ...

    gateway = connected(pair, new(), (MasterGateway,))
    error = gateway.submit(3).exception(SOON)
    assert isinstance(error, RpcError)
    assert "Could not deserialize the arguments of MasterGateway.submit" in str(error)


def test_a_required_parameter_more_is_a_clear_error(pair: tuple[RpcService, RpcService]) -> None:
    class MasterGateway(RpcGateway):
        def cancel(self) -> Future[bool]: ...

    gateway = connected(pair, old(), (MasterGateway,))
    assert "Could not deserialize the arguments" in str(gateway.cancel().exception(SOON))


def test_a_gateway_under_another_name_fits_if_all_its_methods_are_there(
    pair: tuple[RpcService, RpcService],
) -> None:
    class Cancelling(RpcGateway):
        def cancel(self, name: str) -> Future[bool]: ...

    assert connected(pair, old(), (Cancelling,)).cancel("j").result(SOON) is True


def test_another_protocol_version_is_refused(pair: tuple[RpcService, RpcService]) -> None:
    """E.24."""
    server, _ = pair
    request = OpenRequest(99, "x", "G", "", [], None, "")

    class FakeSession:
        def __init__(self) -> None:
            self.answers: list[Any] = []

        def answer(self, call: int, payload: bytes, good: bool) -> None:
            self.answers.append((call, payload, good))

    fake: Any = FakeSession()
    server._remote.on_open(fake, 1, encode_plain(request))
    server._remote.on_open(fake, 2, b"noise")
    assert [(call, good) for call, _, good in fake.answers] == [(1, False), (2, False)]
    texts = [msgspec.msgpack.decode(payload) for _, payload, _ in fake.answers]
    assert texts[0][0] == f"{HandshakeError.__module__}.HandshakeError"
    assert "version 99" in texts[0][1]
    assert "cannot be read" in texts[1][1]


def test_defaults_of_every_kind_stand_in_for_what_an_old_caller_does_not_send() -> None:
    class WideGateway(RpcGateway):
        def take(
            self,
            n: int,
            array: np.ndarray | None = None,
            anything: Any = (1, 2),
            either: uuid.UUID | str = "x",
            many: list[int] = [7],  # noqa: B006
        ) -> Future[None]: ...

    schema = schema_of(WideGateway)
    procedure = schema.lenient("take")
    assert procedure.decode_arguments(encode_plain([1])) == (1, None, (1, 2), "x", [7])
    five = schema.procedures["take"].encode_arguments((1, None, 2, uuid.UUID(int=1), []))
    assert procedure.decode_arguments(five) == (1, None, 2, uuid.UUID(int=1), [])
    with pytest.raises(msgspec.ValidationError):
        procedure.decode_arguments(encode_plain([]))
