"""Without pyarrow and Spark the rooms that need neither work; the others say what to install."""

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np

ABSENT = {"pyarrow": "arrow", "pyspark": "spark", "py4j": "spark", "pandas": "spark"}


class Absent:
    """Finds none of these packages."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


assert not set(sys.modules) & set(ABSENT)
sys.meta_path.insert(0, Absent())  # type: ignore[arg-type]

import flinkish  # noqa: E402
from flinkish.common.errors import MissingDependencyError  # noqa: E402

ROOT = Path(flinkish.__file__).parent
LIGHT = [
    "common",
    "metrics",
    "mailbox",
    "time",
    "state",
    "purgatory",
    "rpc",
    "functions",
    "windowing",
]


def names_of(room: str) -> list[str]:
    for node in ast.parse((ROOT / room / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)  # type: ignore[no-any-return]
    raise AssertionError(room)


def asked(room: str, name: str) -> MissingDependencyError | None:
    try:
        getattr(import_module(f"flinkish.{room}"), name)
    except MissingDependencyError as error:
        return error
    return None


for room in LIGHT:
    assert not [name for name in names_of(room) if asked(room, name)], room

said = [asked(room, name) for room in ("operators", "task", "testing") for name in names_of(room)]
errors = [error for error in [*said, asked("spark", "DataStream")] if error is not None]
for error in errors:
    assert error.extra == ABSENT[error.module or ""], error
    assert f"pip install 'flinkish[{error.extra}]'" in str(error)
assert {error.extra for error in errors} == {"arrow", "spark"}

# And they work.
from flinkish.mailbox import MailboxProcessor  # noqa: E402
from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory  # noqa: E402
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService, ask  # noqa: E402
from flinkish.time import assign_to_key_group, assign_to_key_groups  # noqa: E402

assert 0 <= assign_to_key_group("key", 128) < 128
assert len(assign_to_key_groups(np.arange(3), 128)) == 3

ran: list[int] = []
processor = MailboxProcessor(lambda controller: controller.all_actions_completed())
processor.get_mailbox_executor(0).execute(lambda: ran.append(1))
processor.run_mailbox_loop()
assert ran == [1]


class Operation(DelayedOperation):
    def try_complete(self) -> bool:
        return self.force_complete()

    def on_complete(self) -> None:
        ran.append(2)

    def on_expiration(self) -> None: ...


with DelayedOperationPurgatory("light") as purgatory:
    assert purgatory.try_complete_else_watch(Operation(1_000), ["key"])
assert ran == [1, 2]


class EchoGateway(RpcGateway):
    @ask
    def echo(self, thing: Any) -> Any: ...


class Echo(RpcEndpoint, EchoGateway):
    def echo(self, thing: Any) -> Any:
        return thing


with (
    RpcService("far", host="127.0.0.1", secret="x" * 32) as far,
    RpcService("near", secret="x" * 32) as near,
):
    echo = Echo(far, "echo")
    echo.start()
    gateway = near.connect(echo.address, EchoGateway).result(60)
    assert gateway.echo({"a": [1, (2, 3)]}).result(60) == {"a": [1, (2, 3)]}

assert not set(sys.modules) & set(ABSENT)
