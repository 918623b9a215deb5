"""PyFlink's module of output tags."""

from flinkish.common.output_tag import OutputTag

__all__ = ["OutputTag"]
