"""Whatever command moves a run, and wherever it is struck: nothing is done twice, nothing acknowledged is lost, and the
run can be brought to an end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.every_kind import RUN
from tests.crash.stories import Command, Story, Strike, every_strike, tell_disturbed
from tests.executors.http_server import LocalServer, serving

_BEGUN = Command(("run",), 4)
APPROVED = Story(
    "approved",
    (
        _BEGUN,
        Command(("reject", RUN, "ok", "--comment", "once more"), 0),
        Command(("approve", RUN, "posted"), 0),
        Command(("recover", RUN), 4),
        Command(("approve", RUN, "ok"), 0),
        Command(("recover", RUN), 0),
    ),
)
REJECTED = Story(
    "rejected", (_BEGUN, Command(("reject", RUN, "posted"), 0, leads_to=3), Command(("recover", RUN), 3, leads_to=3))
)
CANCELLED = Story("cancelled", (_BEGUN, Command(("cancel", RUN), 0, leads_to=5)))
RESOLVED = Story("resolved", (Command(("run",), 10), Command(("resolve", RUN, "plain", "--done"), 0)), dies=True)
GIVEN_UP = Story(
    "given up", (Command(("run",), 10), Command(("resolve", RUN, "plain", "--failed"), 0, leads_to=1)), dies=True
)
CANCELLED_IN_DOUBT = Story(
    "cancelled in doubt", (Command(("run",), 10), Command(("cancel", RUN), 10, leads_to=5)), dies=True
)
STORIES = [APPROVED, REJECTED, CANCELLED, RESOLVED, GIVEN_UP, CANCELLED_IN_DOUBT]


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with serving() as local:
        yield local


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_sample_of_the_strikes(story: Story, server: LocalServer, tmp_path: Path) -> None:
    strikes = list(every_strike(story, tmp_path / "undisturbed", server))

    assert tell_disturbed(story, _sample(story, strikes), tmp_path, server) == []


def _sample(story: Story, strikes: list[Strike]) -> list[Strike]:
    """One of the last command, which no other story has; of the longest story one of any command as well."""
    chosen = random.Random(story.name)
    last = [strike for strike in strikes if strike.command == len(story.commands) - 1]
    return [chosen.choice(last), *([chosen.choice(strikes)] if story is APPROVED else [])]


@pytest.mark.sweep
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_every_strike(story: Story, server: LocalServer, tmp_path: Path) -> None:
    strikes = list(every_strike(story, tmp_path / "undisturbed", server))

    assert tell_disturbed(story, strikes, tmp_path, server) == []
