"""What the documents point at exists."""

import re
from pathlib import Path

import pytest

from tests.checkout import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    local = [link for link in links if "://" not in link]
    dead = [link for link in local if not (page.parent / link).exists()]
    assert not dead, f"{page.name} links to {', '.join(dead)}"


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
