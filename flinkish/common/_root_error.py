"""The root of the errors; users import it from ``flinkish.common.errors``."""


class FlinkishError(Exception):
    """Root of all errors that flinkish raises on its own account."""
