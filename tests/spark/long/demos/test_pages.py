"""The pages that lead through a program: their blocks run, and print what is shown."""

import re

import pytest

from tests.checkout import ROOT
from tests.spark import demos

pytestmark = pytest.mark.spark

TUTORIAL = "docs/tutorial/index.md"
PAGES = [
    TUTORIAL,
    "docs/guides/programs.md",
    "docs/guides/tables.md",
    "docs/guides/porting.md",
    "docs/guides/sessionization.md",
    "docs/guides/testing.md",
    "docs/guides/upgrading.md",
]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)
MARK = "=== end of block ==="
# One session is enough for all: each page asks for one.  Spark looks for relative paths in the
# directory in which it was started, so pages name different ones.
PROGRAM = """
import os, tempfile

os.chdir(tempfile.mkdtemp(dir={place!r}))
for page, codes in {pages!r}:
    names = {{"__name__": "__main__"}}
    for code in codes:
        exec(compile(code, page, "exec"), names)
        print({mark!r}, flush=True)
"""


def blocks(page: str) -> tuple[list[str], list[str]]:
    """The Python blocks of a page, and the text that follows each: what it prints."""
    codes: list[str] = []
    shown: list[str] = []
    for kind, text in BLOCK.findall((ROOT / page).read_text()):
        if kind == "python":
            codes.append(text)
            shown.append("")
        else:
            shown[-1] = text.strip()
    return codes, shown


@pytest.fixture(scope="module")
def printed(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> list[tuple[str, list[str]]]:
    """What the blocks of each page print, one page after the other; those of the tutorial twice."""
    place = tmp_path_factory.mktemp("pages")
    codes = [(page, blocks(page)[0]) for page in [*PAGES, TUTORIAL]]
    script = place / "pages.py"
    script.write_text(PROGRAM.format(pages=codes, mark=MARK, place=str(place)))
    done = demos.run_script(script, env=environment)
    assert done.returncode == 0, done.stderr[-8000:]
    texts = iter(text.strip() for text in done.stdout.split(MARK))
    return [(page, [next(texts) for _ in of_page]) for page, of_page in codes]


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_print_what_is_shown(
    page: str, printed: list[tuple[str, list[str]]]
) -> None:
    _, shown = blocks(page)
    assert any(shown)
    assert [texts for name, texts in printed if name == page] == [shown] * (1 + (page == TUTORIAL))
