"""PyFlink's module of catalogs: its names are refused, with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "Catalog CatalogBaseTable CatalogColumnStatistics CatalogDatabase CatalogDescriptor "
    "CatalogFunction CatalogPartition CatalogPartitionSpec CatalogTableStatistics Column "
    "ComputedColumn Constraint HiveCatalog MetadataColumn ObjectIdentifier ObjectPath "
    "PhysicalColumn Procedure ResolvedSchema UniqueConstraint WatermarkSpec",
    "a program has one catalog, of its own tables; tables of other catalogs are in Spark's, which "
    "SQL finds by name (spark.sql.catalog.NAME)",
)

__all__: list[str] = []
