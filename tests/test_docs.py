"""What the documents point at exists, and is said in plain words."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.checkout import ROOT, examples, of_each

# What keeps a sentence from being understood at the first reading, and what to do about it; in
# pages and in sources.
HARD = {
    r"\bbe it that\b": "write because, or if",
    r"\bin vain\b": "say what did not happen",
    r"\b[Nn]obody's promise\b": "name who does not promise it",
    r"\b[Uu]tili[sz]e|\b[Ll]everage\b": "write use",
    r"\b[Aa]s declared\b": "say what the method does",
    r"(?<!left )\bbehind\b": "write after, before or below: behind is for places",
    r"\b[Ww]hoever\b": "name the actor: the caller, the worker, the I/O thread",
    r"(?:^|[.;:]  ?|\bfor |\bthat )[Ww]ho (?!may connect)[a-z]+s\b(?!.*\?)": "name the actor",
    r"\b(?:of course|obviously)\b": "leave it out",
    r'"""What ': "name the thing: the values that, the error of, the state after",
}
# A number of the notes that tests cite, which no user has.
NOTE = r"(?<![\w.])[A-FHKNPR]\.\d+\b|\b[Ff]acts? [A-Z]?\d"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


@of_each(PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    local = [link for link in links if "://" not in link]
    dead = [link for link in local if not (page.parent / link).exists()]
    assert not dead, f"{page.name} links to {', '.join(dead)}"


def hard_words(path: Path, patterns: dict[str, str]) -> list[str]:
    """Where a file has one of the patterns, outside of the code blocks of a page."""
    text = re.sub(
        r"^```.*?^```$",
        lambda block: "\n" * block[0].count("\n"),
        path.read_text(),
        flags=re.S | re.M,
    )
    return [
        f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: {advice}"
        for number, line in enumerate(text.splitlines(), 1)
        for pattern, advice in patterns.items()
        for found in re.finditer(pattern, line)
    ]


@pytest.mark.spark  # imports what needs pyspark
@of_each(PAGES)
def test_what_blocks_import_exists(page: Path) -> None:
    blocks = [ast.parse(code, str(page)) for code in examples(str(page))]
    for node in (node for block in blocks for node in ast.walk(block)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flinkish"):
            module = import_module(node.module or "")
            for name in node.names:
                assert hasattr(module, name.name), f"{node.module} has no {name.name}"


# The changelog's earlier entries stay as they were written.
@of_each(PAGES[1:])
def test_pages_are_in_plain_english(page: Path) -> None:
    assert not hard_words(page, HARD)


def test_sources_are_in_plain_english() -> None:
    kinds = {".py", ".pyi", ".pyx", ".pxd"}
    sources = [path for path in ROOT.glob("flinkish/**/*") if path.suffix in kinds]
    assert not [found for source in sources for found in hard_words(source, HARD)]


def test_pages_and_sources_name_classes_of_flink_and_no_notes() -> None:
    sources = [
        path
        for pattern in ("*.py", "*.pyi", "*.pyx", "*.pxd", "*.java")
        for path in sorted(ROOT.glob(f"flinkish/**/{pattern}"))
    ]
    cited = [
        f"{path.relative_to(ROOT)}:{number}: {found[0]}: name the class, as (Flink: WindowOperator)"
        for path in [*sources, *PAGES]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := re.search(NOTE, line))
    ]
    assert not cited, "\n".join(cited)


def test_the_site_has_a_place_for_each_page() -> None:
    docs = ROOT / "docs"
    placed = re.findall(r"[\w./-]+\.md\b", (ROOT / "mkdocs.yml").read_text())
    assert sorted(placed) == sorted(p.relative_to(docs).as_posix() for p in docs.glob("**/*.md"))


def test_the_reference_has_each_public_room() -> None:
    documented = {page.stem for page in ROOT.glob("docs/reference/api/*.md")}
    rooms = {room.parent.name for room in ROOT.glob("flinkish/[a-z]*/__init__.py")}
    assert rooms - documented == {"datastream"}, "which defines nothing"


def test_the_tour_names_files_that_exist() -> None:
    named = re.findall(
        r"`((?:_core|[a-z]+)/\w+(?:\.py|\.sh)?)`", (ROOT / "docs/tour.md").read_text()
    )
    assert len(named) > 40
    places = [
        [ROOT / name, *(ROOT / "flinkish").glob(name), *(ROOT / "flinkish").glob(f"{name}.p*")]
        for name in named
    ]
    missing = [
        name for name, found in zip(named, places, strict=True) if not any(map(Path.exists, found))
    ]
    assert not missing, f"docs/tour.md names {', '.join(missing)}"
