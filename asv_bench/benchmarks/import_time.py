"""What an import costs in a fresh interpreter, beside the libraries that it needs anyway."""


class ImportTime:
    """Whole interpreters are timed by asv itself (``timeraw``): seconds per import."""

    timeout = 60
    number = 1

    def timeraw_package(self) -> str:
        return "import flinkish"

    def timeraw_functions(self) -> str:
        """What a module of user functions imports; no Spark, no pandas."""
        return "import flinkish.common, flinkish.datastream.functions, flinkish.datastream.state"

    def timeraw_spark(self) -> str:
        return "import flinkish.spark"

    def timeraw_keyed_worker(self) -> str:
        """What a Spark worker imports to pack rows and to run a keyed function on them."""
        return "import pyspark.worker, flinkish.spark.keyed.processor, flinkish.spark.keyed.packing"

    def timeraw_dependencies(self) -> str:
        return "import numpy, pyarrow"

    def timeraw_dependencies_spark(self) -> str:
        return "import numpy, pyarrow, pandas, pyspark.sql"

    def timeraw_dependencies_worker(self) -> str:
        """What Spark's own worker imports, and the libraries that it needs for columns."""
        return "import pyspark.worker, pyspark.sql.streaming, numpy, pyarrow.compute"
