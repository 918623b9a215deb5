# What belongs to one thread, and the others that come while it works without the GIL.
#
# Such an object has a `holder`, which is read and written with the GIL only:
#
#   O1  A thread that is about to release the GIL looks whether there is a holder, and is refused if
#       there is one; then it makes itself the holder.
#   O2  It keeps the object until it has the GIL again for good: over several sections, if what the
#       later ones do was prepared by the earlier ones.
#   O3  Any other code that reads or writes what the object holds looks first, and looks again
#       after code of users has run in between, since other threads run there, too.
#
# Looking costs a comparison.  A lock would do no good: two threads that take turns at an object of one
# operator spoil each other's current key, however well they wait.

# What works without one all the time, such as the state of a key, is used by the thread for which
# that key was made current, and by no other: one that a function left running would come to another
# key. In a forked child it is used by nobody: what lies in files is shared with the parent.

# The ident of the thread that runs.
cdef unsigned long this_thread() noexcept

# The text of the error for a thread that finds `holder` at work on `thing`.
cdef str in_use(str thing, unsigned long holder)

# The text of the error for a use of `thing` in a forked child, or by another thread than
# `worker`.
cdef str in_a_child(str thing)
cdef str of_another_thread(str thing, unsigned long worker)
