"""docs/reference/ is what the classes say, and the tables of README do not say otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from docs.generate import COMMAND, REFERENCE, pages

from hooks.definition.hook_points import ALIASES, MODES, RULES, HookType
from hooks.pipeline.hook_points import HOOK_POINTS
from hooks_cli.failures import EXIT_CODES
from tests.documents import table_of
from tests.test_readme import README

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_what_the_classes_say(name: str) -> None:
    committed = (REFERENCE / name).read_text(encoding="utf-8") if (REFERENCE / name).exists() else ""

    assert committed == PAGES[name], f"docs/reference/{name} is not what the classes say; run `{COMMAND}` and commit."


def test_there_is_no_other_page() -> None:
    assert {path.name for path in REFERENCE.iterdir()} == set(PAGES)


def test_readme_says_of_each_hook_point_what_may_be_done_there() -> None:
    told = {
        point: (aliases, {word for word in ("block", "ask") if re.search(rf"\b{word}\b", may)}, words(may))
        for points, _, may in table_of(README, "point")
        for point, aliases in named(points)
    }

    assert told == {
        point.value: (
            {alias for alias, meant in ALIASES.items() if meant == point},
            {word for word, is_so in (("block", rules.can_block), ("ask", rules.can_ask)) if is_so},
            set(HOOK_POINTS[point].writable_fields()),
        )
        for point, rules in RULES.items()
    }


def named(cell: str) -> Iterator[tuple[str, set[str]]]:
    """The hook points of a cell, each with its aliases: `` `a` (A), `b` ``."""
    for point, alias in re.findall(r"`(\w+)`(?: \((\w+)\))?", cell):
        yield point, {alias} - {""}


def words(cell: str) -> set[str]:
    """The fields that a cell says can be changed."""
    return {re.split(r"\W", word)[0] for word in re.findall(r"`([^`]+)`", cell)} & WRITABLE


WRITABLE = {name for point in HookType for name in HOOK_POINTS[point].writable_fields()}


def test_readme_names_the_modes_in_their_order() -> None:
    assert [re.findall(r"`(\w+)`", row[0])[0] for row in table_of(README, "mode")] == list(MODES)


def test_readme_has_the_exit_codes_as_help_has_them() -> None:
    cells = [cell.replace("`", "") for row in table_of(README, "exit", "meaning", "exit", "meaning") for cell in row]
    told = {
        int(code): meaning
        for codes, meanings in zip(cells[::2], cells[1::2], strict=True)
        for code, meaning in zip(codes.split(", "), meanings.split("; ") if "," in codes else [meanings], strict=True)
        if code.isdigit()
    }

    assert told == EXIT_CODES
