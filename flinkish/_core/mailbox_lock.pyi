"""The lock of a mailbox."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from typing_extensions import disjoint_base

_T = TypeVar("_T")

@disjoint_base
class MailboxLock:
    """What a MailboxQueue is guarded by."""

    illegal_state: ClassVar[type[Exception]]

    def is_mailbox_thread(self) -> bool: ...
    def run_exclusively(self, runnable: Callable[[], _T]) -> _T: ...
