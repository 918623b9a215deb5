"""PyFlink's module around Java objects, whose class is refused."""

from flinkish.common.pyflink_names import pyflink_names

__getattr__ = pyflink_names(__name__)

__all__: list[str] = []
