# A mail: something to be run by the thread of a mailbox, and how it wants to be treated.
#
# Immutable, so it may be put into several mailboxes, or again after it ran.

from libc.stdint cimport int32_t

cdef enum MailOption:
    OPTION_DEFAULT
    OPTION_URGENT
    OPTION_DEFERRABLE

cdef class Mail:
    cdef readonly object command        # called without arguments
    cdef object _description            # None, text, or a format for `_arguments`
    cdef tuple _arguments               # or None
    cdef object _executor               # has run_throwing(command); None calls the command here
    cdef int32_t own_priority           # as it was given
    cdef int32_t visible                # as it shows: -1 when deferrable
    cdef int32_t option                 # MailOption
    cdef object run_now(self)

cdef Mail new_mail(object command, int32_t priority, object description, tuple arguments,
                   int32_t option, object executor)

# The number of an option, which must be one; -1 with an error set.
cdef int32_t read_option(object options) except -1

# An int within -1 .. 2**31 - 1; -2 with an error set.
cdef int32_t read_priority(object priority) except -2

# The error for something that is put and is no mail.
cdef object not_a_mail(object mail)
