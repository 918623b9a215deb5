"""Mails; described in ``mail.pxd``."""

cimport cython
from libc.stdint cimport INT32_MAX

from enum import Enum, IntEnum


class MailboxState(Enum):
    """``OPEN`` takes in and gives out, ``QUIESCED`` gives out only, ``CLOSED`` neither."""

    OPEN = 0
    QUIESCED = 1
    CLOSED = 2


class MailOptions(IntEnum):
    """How a mail is treated among others (Flink: MailboxExecutor.MailOptions).

    ``URGENT`` passes every mail that is not, also in the batch; urgent mails keep their order.
    ``DEFERRABLE`` shows as ``MIN_PRIORITY``, so only the main loop takes it, no yielding operator.
    """

    DEFAULT = 0
    URGENT = 1
    DEFERRABLE = 2


cdef int32_t read_option(object options) except -1:
    if options is None:
        return OPTION_DEFAULT
    if not isinstance(options, MailOptions):
        raise TypeError(
            f"options must be MailOptions.DEFAULT, .URGENT or .DEFERRABLE, not {options!r}"
        )
    return <int32_t>options


cdef int32_t read_priority(object priority) except -2:
    cdef long long number
    if not isinstance(priority, int):
        raise TypeError(
            f"a priority must be an int from -1 to {INT32_MAX}, not {priority!r} of type "
            f"{type(priority).__name__}"
        )
    if not -1 <= priority <= INT32_MAX:
        raise ValueError(
            f"the priority {priority} is out of range: MIN_PRIORITY is -1, MAX_PRIORITY {INT32_MAX}"
        )
    number = priority
    return <int32_t>number


@cython.freelist(64)
cdef class Mail:
    """Mail(command, priority, description=None, *, options=None, description_args=None, \
action_executor=None)\n--\n\n``command()`` to be run by the thread of a mailbox.

    ``description`` is text, or a %-format for ``description_args``; it is formatted only when
    somebody reads it (Flink: Mail).  ``action_executor.run_throwing(command)`` runs the command,
    if one is given.

    Threading: immutable; ``run`` belongs to the thread of the mailbox.
    """

    def __init__(self, command, priority, description=None, *, options=None,
                 description_args=None, action_executor=None):
        if not callable(command):
            raise TypeError(
                "the command of a mail must be callable without arguments, not "
                f"{type(command).__name__}"
            )
        self.command = command
        self._description = description
        self._arguments = None if description_args is None else tuple(description_args)
        self._executor = action_executor
        self.option = read_option(options)
        self.own_priority = read_priority(priority)
        self.visible = -1 if self.option == OPTION_DEFERRABLE else self.own_priority

    @property
    def priority(self):
        """The priority that a take compares: -1 for a deferrable mail."""
        return self.visible

    @property
    def original_priority(self):
        """The priority it was given."""
        return self.own_priority

    @property
    def options(self):
        """One of MailOptions."""
        return MailOptions(self.option)

    @property
    def description(self):
        """The text, formatted now; the command's name where none was given."""
        if self._description is None:
            return getattr(self.command, "__qualname__", None) or repr(self.command)
        text = str(self._description)
        if not self._arguments:
            return text
        try:
            return text % self._arguments
        except Exception as error:  # it is for people, and may not stand in for what happened
            return f"{text} % {tuple(map(type, self._arguments))} ({type(error).__name__})"

    def __repr__(self):
        kind = "" if self.option == OPTION_DEFAULT else f" {self.options.name.lower()}"
        return f"<Mail {self.description!r} priority={self.own_priority}{kind}>"

    cdef object run_now(self):
        if self._executor is None:
            return self.command()
        return self._executor.run_throwing(self.command)

    def run(self):
        """Run the command here; what it raises goes to the caller."""
        self.run_now()


cdef Mail new_mail(object command, int32_t priority, object description, tuple arguments,
                   int32_t option, object executor):
    cdef Mail mail = Mail.__new__(Mail)
    mail.command = command
    mail._description = description
    mail._arguments = arguments
    mail._executor = executor
    mail.option = option
    mail.own_priority = priority
    mail.visible = -1 if option == OPTION_DEFERRABLE else priority
    return mail


cdef object not_a_mail(object mail):
    return TypeError(
        f"a mailbox holds objects of the class Mail, not {type(mail).__name__}: "
        "make one with Mail(command, priority, description), or use an executor"
    )
