"""The loop of the mailbox thread, and the executors that hand work to it.

A field that no `__init__` has filled holds None, which has no C fields: hence the checks for None.
"""

cimport cython
from functools import partial

from cpython.object cimport PyObject
from libc.stdint cimport INT32_MAX


cdef extern from "Python.h":
    ctypedef struct PyCodeObject:
        int co_flags
    int CO_COROUTINE
    bint PyFunction_Check(object) noexcept
    PyObject* PyFunction_GET_CODE(object) noexcept
    bint PyMethod_Check(object) noexcept
    PyObject* PyMethod_GET_FUNCTION(object) noexcept

cdef uint32_t LOOK = 64    # turns of the loop between two calls of `_look`

# Where Python code begins to run, the interpreter serves signals, and other threads that ask for
# the GIL.  A default action in C runs none, so the loop does.  Giving the GIL up and taking it
# back at once would not do: it wakes the threads that wait for it and is gone before they run, so
# often that they never come to ask.
cdef object _look = eval("lambda: None")


@cython.nonecheck(True)
cdef class MailboxLoop:
    """Runs the mails of a mailbox and, between them, ``default_action(controller)``.

    Starvation: a turn runs the mails that are there when it begins (and urgent ones that come
    meanwhile, as ``MailboxQueue`` limits them), then one default action (Flink: MailboxProcessor).

    Life cycle: ``run_mailbox_loop`` returns after ``suspend`` and may be called again; after
    ``all_actions_completed`` it never runs anything again.  It also returns when
    the mailbox is closed.

    Threading: ``suspend``, ``all_actions_completed``, ``report_throwable`` and
    ``Suspension.resume`` are for any thread, the rest for that of the mailbox.
    """

    def __init__(self, default_action, MailboxQueue mailbox not None):
        if not callable(default_action):
            raise TypeError(
                "the default action must be callable with a MailboxController, not "
                f"{type(default_action).__name__}"
            )
        self.mailbox = mailbox
        self.default_action = default_action
        self.controller = MailboxController.__new__(MailboxController)
        self.controller.loop = self
        self.running = True

    @property
    def is_mailbox_loop_running(self):
        """False once all actions are completed, else True, also while the loop is suspended."""
        return self.running

    @property
    def mails_run(self):
        """How many mails the loop has run."""
        return self.mails

    def is_default_action_available(self):
        """Whether the default action is not suspended."""
        return self.suspension is None

    def call_after_mail(self, callback):
        """Call ``callback()`` once, after the next mail that does not end the loop.

        As in Flink's MailboxMetricsController.
        """
        self.after_mail = callback

    # --- running

    cdef int _start(self) except -1:
        self.mailbox._own()
        self.suspended = not self.running
        if self.running:
            self.mailbox._enter()
            self.mailbox._leave()
        return 0

    def run_mailbox_loop(self):
        """Run mails and default actions until suspended or completed.

        What a mail or the default action raises comes out unchanged; the loop may then be
        run again.
        """
        self._start()
        if self.running and self.mailbox.status != QUEUE_OPEN:
            raise self.mailbox._refusal(
                "its loop cannot start: make a new mailbox and a new processor"
            )
        while not self.suspended and self.mailbox.status != QUEUE_CLOSED:
            if not self.mailbox.is_empty():
                self._run_batch()
            if self.suspension is not None:
                self._await_action()
            if not self.suspended:
                self._act()

    def run_mailbox_step(self):
        """Run one mail or, where there is none, one default action; whether either ran."""
        self._start()
        return self._run_queued() or self._act_if_available()

    def run_single_mailbox_loop(self):
        """Run one mail, if there is one, and one default action, if available."""
        cdef bint ran
        self._start()
        ran = self._run_queued()
        return self._act_if_available() or ran

    def drain(self):
        """Run the mails that are there, also of a quiesced mailbox.

        Where one raises, those after it stay in the mailbox; a further call goes on.
        """
        cdef Mail mail
        self.mailbox._own()
        self.mailbox.make_batch()
        while True:
            mail = self.mailbox.take_mail(TAKE_BATCH, -1)
            if mail is None:
                return
            self._run_mail(mail)

    cdef bint _run_queued(self) except -1:
        """Run one mail; whether there was one."""
        cdef Mail mail
        if self.suspended or not self.mailbox.make_batch():
            return False
        mail = self.mailbox.take_mail(TAKE_BATCH, -1)
        if mail is None:
            return False
        self._run_mail_paused(mail)
        return True

    cdef bint _act_if_available(self) except -1:
        """Run one default action; whether it was available."""
        if self.suspended or self.suspension is not None:
            return False
        self._act()
        return True

    cdef int _run_batch(self) except -1:
        cdef Mail mail
        self.mailbox.make_batch()
        self._pause_timer()
        while not self.suspended and self.mailbox.status != QUEUE_CLOSED:
            mail = self.mailbox.take_mail(TAKE_BATCH, -1)
            if mail is None:
                break
            self._run_mail(mail)
        self._restart_timer()
        return 0

    cdef int _await_action(self) except -1:
        """Run mails, waiting for them, until the default action is available."""
        while self.suspension is not None and not self.suspended:
            if self.mailbox.status == QUEUE_CLOSED:
                self.suspended = True
                break
            mail = self.mailbox.await_mail(-1, -1)
            self._run_mail_paused(mail)
        return 0

    cdef int _run_mail_paused(self, Mail mail) except -1:
        self._pause_timer()
        self._run_mail(mail)
        self._restart_timer()
        return 0

    cdef int _run_mail(self, Mail mail) except -1:
        self.mails += 1
        mail.run_now()
        if self.after_mail is not None and not self.suspended:
            callback = self.after_mail
            self.after_mail = None
            callback()
        return 0

    cdef int _act(self) except -1:
        self.turns += 1
        if self.turns >= LOOK:
            self.turns = 0
            _look()
        self.default_action(self.controller)
        return 0

    cdef int _pause_timer(self) except -1:
        """Neither idle nor back-pressured while mails run."""
        if self.suspension is not None and self.suspension.timer is not None:
            self.suspension.timer.mark_end()
        return 0

    cdef int _restart_timer(self) except -1:
        if self.suspension is not None and self.suspension.timer is not None:
            self.suspension.timer.mark_start()
        return 0

    # --- control, from any thread

    cdef int _control(self, object command, str description) except -1:
        self.mailbox.put_mail(
            new_mail(command, INT32_MAX, description, None, OPTION_DEFAULT, None), KIND_FRONT
        )
        return 0

    def suspend(self):
        """Let the loop return at its next look; mails stay queued.

        Nothing happens when the mailbox is closed.
        """
        self._end(self._suspend_now, "suspend the mailbox loop")

    def all_actions_completed(self):
        """Let the loop return for good; nothing happens on a closed mailbox."""
        self._end(self._complete_now, "complete the mailbox loop")

    def _end(self, command, str description):
        try:
            self._control(command, description)
        except self.mailbox.closed_error:
            # A quiesced mailbox cannot take the mail; its own thread does not need one.
            if self.mailbox.status == QUEUE_QUIESCED and self.mailbox.is_mailbox_thread():
                command()

    def _suspend_now(self):
        self.suspended = True

    def _complete_now(self):
        self.running = False
        self.suspended = True

    def report_throwable(self, error):
        """Let the loop raise ``error``, before anything else that waits."""
        if not isinstance(error, BaseException):
            raise TypeError(f"report_throwable needs an exception, not {error!r}")

        def fail():
            raise error

        self._control(fail, f"report {type(error).__name__}")


@cython.final
@cython.nonecheck(True)
cdef class MailboxController:
    """MailboxController()\n--\n\nThe handle by which the default action controls its own loop."""

    def suspend_default_action(self, timer=None):
        """Do not call the default action until ``resume`` of the Suspension returned.

        As in Flink's MailboxProcessor.  ``timer.mark_end()`` and ``timer.mark_start()`` are called
        around mails that run meanwhile.  On the mailbox thread, and not while it is suspended.
        """
        cdef Suspension suspension
        cdef MailboxQueue mailbox = self.loop.mailbox
        mailbox._own()
        if self.loop.suspension is not None:
            raise mailbox.illegal_state(
                "the default action is suspended already: resume that Suspension first"
            )
        suspension = Suspension.__new__(Suspension)
        suspension.loop = self.loop
        suspension.timer = timer
        self.loop.suspension = suspension
        return suspension

    def all_actions_completed(self):
        """There is no more to do: the loop returns for good, when it looks at its mail next."""
        self.loop.all_actions_completed()


@cython.final
@cython.nonecheck(True)
cdef class Suspension:
    """Suspension()\n--\n\nOne suspension of the default action."""

    def resume(self):
        """End it; from any thread, any number of times (Flink: MailboxProcessor).

        At once on the mailbox thread, else by a control mail.  It never ends another suspension,
        and nothing happens once the mailbox takes in no mail.
        """
        if self.loop.mailbox.is_mailbox_thread():
            self._resume_now()
            return
        try:
            self.loop._control(self._resume_now, "resume the default action")
        except self.loop.mailbox.closed_error:
            pass

    def _resume_now(self):
        if self.loop.suspension is self:
            self.loop.suspension = None


cdef bint is_async(object command) except -1:
    """Whether a call gives a coroutine: in some ns for functions and methods, as each mail asks."""
    cdef object function = command
    while type(function) is partial:
        function = function.func
    if not (PyFunction_Check(function) or PyMethod_Check(function)):
        function = type(function).__call__
    if PyMethod_Check(function):
        function = <object> PyMethod_GET_FUNCTION(function)
    if not PyFunction_Check(function):
        return False
    return ((<PyCodeObject*> PyFunction_GET_CODE(function)).co_flags & CO_COROUTINE) != 0


@cython.nonecheck(True)
cdef class MailExecutor:
    """Hands work of one priority to the thread of a mailbox, and lets it run such work early.

    Threading: ``execute`` is for any thread, the rest for that of the mailbox.
    """

    rejected_error = RuntimeError
    async_error = TypeError

    def __init__(self, MailboxQueue mailbox not None, priority, action_executor=None,
                 MailboxLoop loop=None):
        self.mailbox = mailbox
        self.own_priority = read_priority(priority)
        self.action_executor = action_executor
        self.loop = loop

    @property
    def priority(self):
        """The priority of its mails, and the least that it yields to."""
        return self.own_priority

    def execute(self, command, description=None, *, options=None, description_args=None):
        """Let the mailbox thread call ``command()``; what it raises comes out of the loop.

        As in Flink's MailboxProcessor.  ``description`` is text, or a %-format for
        ``description_args``, formatted only when it is read.  A mailbox that takes in no mail is a
        ``rejected_error`` (Flink: MailboxExecutorImpl), and a function by ``async def``, whose
        coroutine nobody would await, is an ``async_error``.
        """
        cdef int32_t option = OPTION_DEFAULT if options is None else read_option(options)
        cdef tuple arguments = None if description_args is None else tuple(description_args)
        if not callable(command):
            raise TypeError(
                f"execute needs something callable without arguments, not {type(command).__name__}"
            )
        if is_async(command):
            raise self.async_error(
                f"{getattr(command, '__qualname__', command)!r} is async, and its coroutine would be awaited by nobody: "
                "the mailbox thread runs no event loop; hand over a plain function, or run the "
                "coroutine in a loop of yours and hand over what is to be done with its result"
            )
        mail = new_mail(command, self.own_priority, description, arguments, option,
                        self.action_executor)
        try:
            self.mailbox.put_mail(mail, KIND_URGENT if option == OPTION_URGENT else KIND_NORMAL)
        except self.mailbox.closed_error as error:
            raise self.rejected_error(
                f"{mail!r} was rejected: {error}"
            ) from error

    cdef bint _run_one(self, int32_t mode) except -1:
        cdef Mail mail = self.mailbox.take_mail(mode, self.own_priority)
        if mail is None:
            return False
        mail.run_now()
        return True

    def yield_(self):
        """Run the next mail of this priority or more, waiting for one.

        What it raises comes out unchanged.  Only within a mail or the default action.
        """
        self.mailbox._own()
        self.mailbox.await_mail(self.own_priority, -1).run_now()

    def try_yield(self):
        """The same without waiting: whether a mail ran."""
        return self._run_one(TAKE_VISIBLE)

    def try_yield_ignoring_deferrable(self):
        """The same, also for deferrable mails of this priority or more."""
        return self._run_one(TAKE_ORIGINAL)

    def should_interrupt(self):
        """Whether mail waits, so that something long should stop and go on later."""
        return self.mailbox.has_mail()

    def is_idle(self):
        """Nothing to do: the default action suspended, no mail, but open to some."""
        return (
            not self.mailbox.has_mail()
            and self.mailbox.status == QUEUE_OPEN
            and self.loop is not None
            and self.loop.suspension is not None
        )
