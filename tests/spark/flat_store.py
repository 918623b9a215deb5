"""A store of objects for fsspec, as an object store is: no rename, and a put of a new name only."""

from __future__ import annotations

import io
import os
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from tests.spark.functions import Silence


class FlatStore(LocalFileSystem):
    """Objects under flat:///path, each a file of this machine."""

    protocol = "flat"

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("flat://"))

    def _open(self, path: str, mode: str = "rb", block_size: Any = None, **kwargs: Any) -> Any:
        if mode == "rb":
            return super()._open(path, mode, block_size, **kwargs)
        assert mode == "wb", mode
        return _Put(path)

    def mv(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("an object keeps its name")

    mv_file = mv


class _Put(io.BytesIO):
    """An object that is there, whole, once it is closed; FileExistsError for a name that is."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def close(self) -> None:
        if not self.closed:
            data = self.getvalue()
            super().close()
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                os.write(file, data)
            finally:
                os.close(file)


fsspec.register_implementation("flat", FlatStore, clobber=True)


class FailsOnce(Silence):
    """Fails once, in the middle of a batch; workers that have it know of FlatStore."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def process_element(self, value: Any, ctx: Any) -> Any:
        if ctx.timestamp() > 28_000:
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                raise RuntimeError("this attempt fails")
        yield from super().process_element(value, ctx)
