"""What `import flinkish` costs in a fresh interpreter, beside numpy and pyarrow alone."""


class ImportTime:
    """Whole interpreters are timed by asv itself (``timeraw``): seconds per import."""

    timeout = 60
    number = 1

    def timeraw_flinkish(self) -> str:
        return "import flinkish"

    def timeraw_dependencies(self) -> str:
        return "import numpy, pyarrow"
