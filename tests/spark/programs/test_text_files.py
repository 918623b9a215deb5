"""Lines of text files in any charset, as PyFlink 2.3 reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flinkish.common import WatermarkStrategy
from flinkish.common.errors import IllegalArgumentError
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import FileSource, StreamFormat

LINES = ["naïve", "", "a\u2028b\x0bc\x85d", "x\x00y", "", "end"]


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "UTF-16"])
def test_lines(batch: StreamExecutionEnvironment, tmp_path: Path, charset: str) -> None:
    lines = [line.replace("\u2028", "") for line in LINES] if charset[:3] == "ISO" else LINES
    ends = ["\n", "\r\n", "\r", "\r\n", "\n", ""]
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    (tmp_path / "file.txt").write_bytes(text.encode(charset))
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(charset), str(tmp_path)
    ).build()
    stream = batch.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    with stream.execute_and_collect() as found:
        assert list(found) == lines


def test_bytes_of_another_charset(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"caf\xe9\nna\xefve\n")
    with env.read_text_file(str(path)).execute_and_collect() as found:
        assert list(found) == ["caf\ufffd", "na\ufffdve"]
    with pytest.raises(IllegalArgumentError, match="a charset is a name such as UTF-8"):
        env.read_text_file(str(path), "latin-99")
