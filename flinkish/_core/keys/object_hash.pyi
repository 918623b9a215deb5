class MissingKeyError(ValueError):
    column: str | int | None
    row: int | None
    count: int
    def __init__(
        self,
        message: str,
        column: str | int | None = None,
        row: int | None = None,
        count: int = 1,
    ) -> None: ...
