"""The lock of a mailbox."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from typing_extensions import disjoint_base

_T = TypeVar("_T")

@disjoint_base
class MailboxLock:
    """What a MailboxQueue is guarded by; errors are of the class ``illegal_state``."""

    illegal_state: ClassVar[type[Exception]]

    def is_mailbox_thread(self) -> bool:
        """Whether the caller is the owner."""

    def run_exclusively(self, runnable: Callable[[], _T]) -> _T:
        """Call ``runnable()`` while no other thread can put, take or close (Flink: A.19).

        It may use the mailbox, and call this again.  It should be short: others wait meanwhile.
        """
