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
    """How a mail is treated among others (Flink: A.11).

    ``URGENT`` passes every mail that is not, also in the batch; urgent mails keep their order.
    ``DEFERRABLE`` shows as ``MIN_PRIORITY``, so only the main loop takes it, no yielding operator.
    """

    DEFAULT = 0
    URGENT = 1
    DEFERRABLE = 2

@disjoint_base
class Mail:
    """``command()`` to be run by the thread of a mailbox.

    ``description`` is text, or a %-format for ``description_args``; it is formatted only when
    somebody reads it (Flink: A.20).  ``action_executor.run_throwing(command)`` runs the command,
    if one is given.

    Threading: immutable; ``run`` belongs to the thread of the mailbox.
    """

    @property
    def command(self) -> Callable[[], object]:
        """The function that the mail runs."""

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
    def priority(self) -> int:
        """What takes see: -1 for a deferrable mail (Flink: A.20)."""

    @property
    def original_priority(self) -> int:
        """The priority it was given."""

    @property
    def options(self) -> MailOptions:
        """One of MailOptions."""

    @property
    def description(self) -> str:
        """The text, formatted now; the command's name where none was given."""

    def run(self) -> None:
        """Run the command here; what it raises goes to the caller."""
