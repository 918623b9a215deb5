# The hashCode of the Java object that Flink would hold for a Python key.

from libc.stdint cimport int32_t

# `key_type` is None, a type's name, or a tuple or list of types for a tuple key.  ValueError for a
# null key and for a number that does not fit, TypeError for a key that has no Java hash or
# contradicts its type.
cdef int32_t object_hash(object key, object key_type) except? -1
