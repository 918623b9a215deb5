"""What a full disk does, without filling one."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process grows past `size` bytes, as on a disk that is full.

    For the body of a test, also as its decorator, and never for a fixture: pytest writes of a
    test's end while its fixtures are still there, and its own output may be a longer file.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
