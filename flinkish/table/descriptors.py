"""PyFlink's module of descriptors of the old form, refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "Rowtime Schema",
    "take flinkish.table.TableDescriptor and flinkish.table.Schema, which replace it in Flink, too",
)

__all__: list[str] = []
