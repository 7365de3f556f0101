"""The guides of docs/ can be followed to the letter, and what documents point to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import Reader, is_as_told

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("guide", ["policies.md", "effects.md", "embedding.md"])
def test_a_guide_can_be_followed_to_the_letter(guide: str, tmp_path: Path) -> None:
    problems = Reader(tmp_path).follow((ROOT / "docs" / guide).read_text(encoding="utf-8"))

    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_points_to_is_there(document: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)", document.read_text(encoding="utf-8"))
    missing = [
        f"{path}#{heading}"
        for path, heading in links
        if not (target := document if not path else document.parent / path).exists()
        or (heading and heading not in headings(target))
    ]

    assert missing == []


def headings(document: Path) -> set[str]:
    """The anchors of a document, as they are made of its headings."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    ("told", "output"),
    [
        ("w-20261130T204658Z-e79b882e ended after 1.7s.", "w-20271231T000000Z-00000000 ended after 99ms.\n"),
        ("NAME   STATUS\na  b", "NAME STATUS\n\na      b\n"),
        ("first\n…\nlast", "first\nmore\nand more\nlast\n"),
        ("a … c", "a b c"),
    ],
)
def test_what_differs_each_time_may_differ(told: str, output: str) -> None:
    assert is_as_told(told, output)


@pytest.mark.parametrize(
    ("told", "output"),
    [
        ("would block 9", "would block 8"),
        ("", "warning: something"),
        ("first\nlast", "first\nmore\nlast"),
        ("a … c", "a b d"),
        ("exit: 2", ""),
    ],
)
def test_anything_else_may_not(told: str, output: str) -> None:
    assert not is_as_told(told, output)
