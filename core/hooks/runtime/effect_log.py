"""What an implementation of one's own writes about effects of which nobody knows how they ended.

Given to `recover_dangling_effects`. It can only settle what is dangling and not under way here: an effect that is being
performed says itself what becomes of it, and one that is settled stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hooks.events.payloads import EffectAttempted, ErrorClass, ErrorInfo, ReconcileResult
from hooks.ids import ActivityId, attempt_directory
from hooks.jsonio import check
from hooks.kernel.state import AttemptState
from hooks.runtime.attempt_files import EffectInput, read_effect_input
from hooks.runtime.recorder import Recorder
from hooks.runtime.step_errors import step_error


class EffectLog:
    """The dangling effects of a run, each as its `effectAttempted`, and the words for what became of one.

    What is said is durable before anything follows from it. Saying something of an effect that is not dangling (any
    more) raises ValueError.
    """

    def __init__(
        self, recorder: Recorder, attempts_directory: Path, is_under_way: Callable[[ActivityId], bool]
    ) -> None:
        self._recorder = recorder
        self._attempts_directory = attempts_directory
        self._is_under_way = is_under_way

    @property
    def dangling(self) -> Sequence[EffectAttempted]:
        """Effects that were permitted, have no known outcome, and are neither under way nor left to a person.

        One whose effect-input.json is missing, or is not what was hashed, is left to a person.
        """
        return [attempt.effect for attempt in self._dangling() if attempt.effect is not None]

    def input_of(self, effect: EffectAttempted) -> Any:
        """Its canonical input, secrets not filled in."""
        effect_input = self._sidecar(self._attempt(effect), effect)
        if effect_input is None:
            raise ValueError(f"The effect-input.json of {effect.attempt_id} cannot be used.")
        return effect_input.input

    def done(self, effect: EffectAttempted, output: Any = None, *, evidence: Any = None) -> None:
        """It happened: its step goes on with `output`. `evidence` is kept in the log; both are JSON."""
        check(output)
        self._record(effect, outcome="done", reason="found", output=output, evidence=evidence)

    def failed(
        self,
        effect: EffectAttempted,
        error_code: str,
        error_message: str,
        *,
        error_class: ErrorClass = "fatal",
        evidence: Any = None,
    ) -> None:
        """It was tried, and has failed; what follows is as for a `Failed` of this class."""
        error = step_error(error_code, error_class, error_message)
        self._record(effect, outcome="failed", reason="found", error=error, evidence=evidence)

    def absent(self, effect: EffectAttempted, *, evidence: Any = None) -> None:
        """It did not happen and will not any more: a new attempt takes its place, with the same key and input."""
        error = step_error("EffectAbsent", "retryable", "The implementation says that it did not happen.")
        self._record(effect, outcome="not_done", reason="absent", error=error, evidence=evidence)

    def in_doubt(self, effect: EffectAttempted, reason: str) -> None:
        """Only a person can say (`hooks resolve`)."""
        self._record(effect, outcome="in_doubt", reason=reason)

    def _record(self, effect: EffectAttempted, *, error: ErrorInfo | None = None, **result: Any) -> None:
        attempt = self._attempt(effect)
        check(result.get("evidence"))
        self._recorder.record(
            ReconcileResult(
                activity_id=attempt.activity_id,
                attempt_id=attempt.attempt_id,
                node_id=attempt.node_id,
                idempotency_key=effect.idempotency_key,
                error=error,
                **result,
            ),
            "supervisor",
        )

    def _attempt(self, effect: EffectAttempted) -> AttemptState:
        by_id: Mapping[str, AttemptState] = {attempt.attempt_id: attempt for attempt in self._dangling()}
        if effect.attempt_id not in by_id:
            raise ValueError(f"The effect of {effect.attempt_id} is not dangling.")
        return by_id[effect.attempt_id]

    def _dangling(self) -> list[AttemptState]:
        return [
            attempt
            for attempt in self._recorder.state.open.values()
            if attempt.is_dangling and not attempt.is_in_doubt and not self._is_under_way(attempt.activity_id)
            # Of one whose input is not what was hashed nobody can say what was permitted: a person is asked.
            if attempt.effect is not None and self._sidecar(attempt, attempt.effect) is not None
        ]

    def _sidecar(self, attempt: AttemptState, effect: EffectAttempted) -> EffectInput | None:
        directory = self._attempts_directory / attempt_directory(attempt.activity_id, attempt.number)
        return read_effect_input(directory, effect.input_hash)[0]
