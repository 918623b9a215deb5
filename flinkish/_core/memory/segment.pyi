"""Growable segments of flat memory, on the heap or over a mapped file."""

class DamagedTable(RuntimeError):
    """A mapped table whose files are not as flinkish left them."""
