"""What there is to go by for whoever has to say whether an effect happened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hooks.kernel.state import ActivityState, AttemptState
from hooks.runtime.attempt_files import read_effect_input
from hooks.runtime.node_names import name_in_id
from hooks.runtime.reading import RunView
from hooks_cli.render.documents import path_text
from hooks_cli.render.errors import doubt_reason


def doubt_documents(view: RunView, activities: Iterable[ActivityState]) -> list[dict[str, Any]]:
    """Of each of `activities` whose effect is in doubt: why, under which key, with which input, and what it printed."""
    doubted = (view.state.in_doubt.get(activity.activity_id) for activity in activities)
    return [_document(view, attempt) for attempt in doubted if attempt is not None]


def _document(view: RunView, attempt: AttemptState) -> dict[str, Any]:
    effect, found = attempt.effect, attempt.reconciled
    assert effect is not None, "only what was attempted comes to be in doubt"
    assert found is not None, "only what was looked into comes to be in doubt"
    directory = view.directory.attempt(attempt.activity_id, attempt.number)
    # A sidecar that is not what was hashed would mislead; the reason says then that it is damaged.
    effect_input, _ = read_effect_input(directory, effect.input_hash)
    stdout = directory / "stdout"
    return {
        "place": name_in_id(attempt.activity_id),
        "attempt": attempt.number,
        "reason": found.reason,
        "reason_text": doubt_reason(found.reason),
        "idempotency_key": effect.idempotency_key,
        "input": None if effect_input is None else effect_input.input,
        "stdout": path_text(stdout) if stdout.is_file() else None,
    }
