"""What `hooks run` says on stderr while it works: a line when something becomes of a node."""

from __future__ import annotations

from hooks.events.envelope import Event
from hooks.events.payloads import (
    ActivityFailed,
    ActivitySucceeded,
    ActivityTimedOut,
    AttemptCreated,
    CancelRequested,
    ErrorInfo,
    FanOutExpanded,
    GenerationFinished,
    GenerationRetryScheduled,
    HookDecided,
    HookSetChanged,
    LoopIterationStarted,
    NodeCancelled,
    NodeFailed,
    NodeSkipped,
    NodeSucceeded,
    Payload,
    ReconcileResult,
    RetryScheduled,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingRepair,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.kernel.state import RunState
from hooks.runtime.node_names import event_place, node_name
from hooks_cli.render.errors import error_text
from hooks_cli.render.event_line import detail, failure_reasons, hook_reasons
from hooks_cli.render.gates import answers_text, gate_terms
from hooks_cli.render.node_status import has_begun_work
from hooks_cli.render.streams import say
from hooks_cli.render.text import duration, one_line

_WIDTH = 160


class Progress:
    """Takes the events of a run as they happen and says what a person wants to know of them.

    `state` is the run as this driver found it.
    """

    def __init__(self, state: RunState) -> None:
        self._run_id = state.run_id
        self._started: dict[str, int] = {}
        self._error: dict[str, ErrorInfo] = {}
        self._failed: dict[str, str] = {}
        """Why the last draw failed, by place."""
        self._best: dict[str, int] = {}
        """The best draw where none passed."""
        self._begun_before = {
            node_name(node_id, scope.key)
            for scope in state.scopes.values()
            for node_id, node in scope.nodes.items()
            if node.ended_at is None and has_begun_work(state, node)
        }

    def __call__(self, event: Event) -> None:
        place = event_place(event.payload)
        what = self._what(event.payload, place, event.timestamp)
        if what is not None:
            say(f"  {one_line(f'{place}: {what}' if place else what, _WIDTH)}")
        if isinstance(event.payload, WaitCreated):
            say(answers_text(self._run_id, event.payload))

    def _what(self, payload: Payload, place: str, at: int) -> str | None:
        match payload:
            case AttemptCreated(attempt=attempt):
                self._started.setdefault(place, at)
                return "started" if attempt == 1 else f"attempt {attempt}"
            case ActivitySucceeded() if place in self._best:
                return f"no draw passed, draw {self._best.pop(place)} is used"
            case NodeSucceeded():
                return f"succeeded{self._took(place, at)}"
            case NodeFailed(error=error):
                return f"failed{self._took(place, at)}: {error_text(error)}"
            case NodeSkipped():
                return f"skipped: {detail(payload)}"
            case NodeCancelled():
                return "cancelled"
            case FanOutExpanded() | LoopIterationStarted():
                self._started.setdefault(place, at)
                return detail(payload)
            case ActivityFailed(error=error) | ActivityTimedOut(error=error):
                self._error[place] = error
                return None
            case GenerationFinished(error=ErrorInfo() as error):
                self._error[place] = error
                return None
            case GenerationRetryScheduled(draw=draw, delay_ms=delay):
                return f"draw {draw} again in {duration(delay)}{self._why(place)}"
            case SamplingIteration(passed=False, validations=validations):
                self._failed[place] = "; ".join(failure_reasons(validations))
                return None
            case SamplingRepair(draw=draw):
                # The last failure has no line of its own: the end of the step says it.
                return f"draw {draw + 1}, after {self._failed.get(place, 'one that failed')}"
            case SamplingLoopEnded(success=False, error=None, draw=int(draw)):
                self._best[place] = draw
                return None
            case RetryScheduled(delay_ms=delay):
                return f"next attempt in {duration(delay)}{self._why(place)}"
            case ReconcileResult(outcome="in_doubt", reason=reason):
                return f"in doubt: {reason}"
            case WaitCreated():
                return f"waits for a person{gate_terms(payload)}: {detail(payload)}"
            case WaitResolved() | WaitDeadlineExceeded():
                return detail(payload)
            case CancelRequested():
                return f"cancel {detail(payload)}"
            case HookSetChanged():
                return f"hooks: {detail(payload)}"
            case HookDecided(hook=hook):
                # What hooks had to tell beside it was shown when they told it.
                reasons = "; ".join(hook_reasons(payload))
                return f"{hook}: {reasons}" if reasons else None
            case _:
                return None

    def _why(self, place: str) -> str:
        return f", after {error_text(self._error[place])}" if place in self._error else ""

    def _took(self, place: str, until_ms: int) -> str:
        begun = self._started.get(place)
        if begun is not None:
            return f" in {duration(until_ms - begun)}"
        return ", begun by an earlier driver" if place in self._begun_before else ""
