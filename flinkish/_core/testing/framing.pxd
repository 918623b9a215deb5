# A door for tests and benchmarks into connections: sinks that answer, or count answers.

cimport cython

from flinkish._core.rpc.frame_buffer cimport FrameBuffer
from flinkish._core.rpc.framing cimport FrameSink


@cython.final
cdef class EchoSink(FrameSink):
    cdef FrameBuffer way_back
    cdef Py_ssize_t taken          # bytes of requests since the last settle
    cdef readonly long long requests

@cython.final
cdef class ReplySink(FrameSink):
    cdef object lock
    cdef readonly long long replies
    cdef readonly long long wanted
