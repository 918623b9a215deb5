"""Mails."""

from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from typing import Any

from typing_extensions import disjoint_base

class MailboxState(Enum):
    """``OPEN`` takes in and gives out, ``QUIESCED`` gives out only, ``CLOSED`` neither."""

    OPEN = 0
    QUIESCED = 1
    CLOSED = 2

class MailOptions(IntEnum):
    """How a mail is treated among others."""

    DEFAULT = 0
    URGENT = 1
    DEFERRABLE = 2

@disjoint_base
class Mail:
    """``command()`` to be run by the thread of a mailbox."""

    @property
    def command(self) -> Callable[[], object]: ...
    def __init__(
        self,
        command: Callable[[], object],
        priority: int,
        description: object = None,
        *,
        options: MailOptions | None = None,
        description_args: Iterable[object] | None = None,
        action_executor: Any = None,
    ) -> None: ...
    @property
    def priority(self) -> int: ...
    @property
    def original_priority(self) -> int: ...
    @property
    def options(self) -> MailOptions: ...
    @property
    def description(self) -> str: ...
    def run(self) -> None: ...
