# What a key says, whatever class says it.
#
# Key group, state and output must take one key for the same.  So none of them asks an object of
# the user for its text or its number (`str(key)` of an enum member is its name): they read what
# the builtin type that it extends keeps, by this function.

# The key as an exact int, float, str, bytes, tuple, datetime, date or Decimal; the key itself
# where it is one, and where it is nothing of the kind.
cdef object plain_key(object key)
