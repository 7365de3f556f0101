"""What there is to go by for whoever has to say whether an effect happened."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hooks.ids import LOOK_UP_DIRECTORY
from hooks.kernel.state import ActivityState, AttemptState
from hooks.runtime.attempt_files import read_effect_input
from hooks.runtime.node_names import name_in_id
from hooks.runtime.reading import RunView
from hooks.times import iso_time
from hooks_cli.render.documents import path_text
from hooks_cli.render.errors import doubt_reason


def doubt_documents(view: RunView, activities: Iterable[ActivityState]) -> list[dict[str, Any]]:
    """Of each of `activities` whose effect is in doubt: why, under which key, with which input, and what it printed."""
    doubted = (view.state.in_doubt.get(activity.activity_id) for activity in activities)
    return [_document(view, attempt) for attempt in doubted if attempt is not None]


def unsettled_documents(view: RunView, activities: Iterable[ActivityState]) -> list[dict[str, Any]]:
    """The same of those whose effect is to be settled yet: it is looked up, or sent again, until that tells.

    A driver keeps to itself when it asks next; a look-up that is a command leaves what it said beside the attempt.
    """
    attempts = (view.state.open.get(activity.activity_id) for activity in activities)
    return [
        _unsettled(view, attempt)
        for attempt in attempts
        if attempt is not None and attempt.is_dangling and not attempt.is_in_doubt and _is_over(view, attempt)
    ]


def _is_over(view: RunView, attempt: AttemptState) -> bool:
    """Whether nobody waits for the effect itself any more."""
    return view.holder is None or attempt.settled is not None or attempt.permitted_by != len(view.state.sessions) - 1


def _unsettled(view: RunView, attempt: AttemptState) -> dict[str, Any]:
    directory = view.directory.attempt(attempt.activity_id, attempt.number)
    look_up = directory / LOOK_UP_DIRECTORY
    try:
        asked_at = iso_time(look_up.stat().st_mtime_ns // 1_000_000)
    except OSError:
        asked_at = None
    return {
        "place": name_in_id(attempt.activity_id),
        "attempt": attempt.number,
        "looked_up_at": asked_at,
        "look_up": path_text(look_up) if asked_at is not None else None,
    }


def _path_if_there(file: Path) -> str | None:
    return path_text(file) if file.is_file() else None


def _document(view: RunView, attempt: AttemptState) -> dict[str, Any]:
    effect, found = attempt.effect, attempt.reconciled
    assert effect is not None, "only what was attempted comes to be in doubt"
    assert found is not None, "only what was looked into comes to be in doubt"
    directory = view.directory.attempt(attempt.activity_id, attempt.number)
    # A sidecar that is not what was hashed would mislead; the reason says then that it is damaged.
    effect_input, _ = read_effect_input(directory, effect.input_hash)
    return {
        "place": name_in_id(attempt.activity_id),
        "attempt": attempt.number,
        "reason": found.reason,
        "reason_text": doubt_reason(found.reason),
        "idempotency_key": effect.idempotency_key,
        "input": None if effect_input is None else effect_input.input,
        **{stream: _path_if_there(directory / stream) for stream in ("stdout", "stderr")},
    }
