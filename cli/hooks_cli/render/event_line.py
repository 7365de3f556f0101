"""One event on one line, for a person following along."""

from __future__ import annotations

from hooks.events.envelope import Event
from hooks.events.payloads import (
    ActivityCancelled,
    ActivityFailed,
    ActivityTimedOut,
    AttemptCreated,
    CancelDelivered,
    CancelRequested,
    ComponentFailed,
    ComponentSucceeded,
    ConditionEvaluated,
    EffectAttempted,
    EffectiveValidation,
    EffectSettled,
    FanOutExpanded,
    GenerationFinished,
    GenerationRetryScheduled,
    GenerationStarted,
    HookDecided,
    HookSetChanged,
    LateOutcome,
    LeftoversEnded,
    LogRepaired,
    LoopFinished,
    LoopIterationFinished,
    LoopIterationStarted,
    NodeFailed,
    NodeSkipped,
    Payload,
    ReconcileResult,
    RequestRefused,
    ResumeStarted,
    RetryScheduled,
    RunBlocked,
    RunCancelled,
    RunCreated,
    RunFailed,
    RunReopened,
    RunSucceeded,
    SamplingIteration,
    SamplingLoopEnded,
    SamplingLoopStarted,
    SamplingRepair,
    ValidationFinished,
    WaitClosed,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.runtime.gate_history import answer_word
from hooks.runtime.node_names import event_place, reference_name
from hooks_cli.render.errors import error_text
from hooks_cli.render.text import clock_time, duration, one_line

_DETAIL_WIDTH = 160


def event_line(event: Event, *, run_id: str | None = None) -> str:
    """Time, number, type, place in the run, and what is particular to it; `run_id` where several runs are shown."""
    place = event_place(event.payload)
    words = [clock_time(event.timestamp), f"{event.seq:>5}", f"{event.payload.type:<21}", f"{place:<16}"]
    if run_id is not None:
        words.insert(0, run_id)
    return "  ".join([*words, one_line(detail(event.payload), _DETAIL_WIDTH)]).rstrip()


def detail(payload: Payload) -> str:
    """What an event says beyond its type and node; may hold anything a run printed."""
    return _of_run(payload) or _of_node(payload) or _of_attempt(payload) or _of_sampling(payload)


def _of_run(payload: Payload) -> str:
    match payload:
        case RunCreated():
            origin = payload.forked_from
            of = "" if origin is None else f", a rerun of {origin.run_id} from {origin.node_id}"
            return f"{payload.workflow_id} by {payload.initiator}{of}"
        case ResumeStarted():
            return f"process {payload.session.pid} on {payload.session.host}"
        case HookSetChanged():
            by_word = {"added": payload.added, "changed": payload.changed}
            return "; ".join(
                f"{word} {', '.join(each.name for each in hooks)}" for word, hooks in by_word.items() if hooks
            )
        case LogRepaired():
            return f"{payload.cut_bytes} bytes of a torn write kept in {payload.kept_in}"
        case RunSucceeded():
            return ", ".join(payload.sinks)
        case RunFailed() | RunBlocked():
            return error_text(payload.error)
        case RunCancelled():
            return payload.reason or ""
        case RunReopened():
            return f"by {payload.by}: {', '.join(map(reference_name, payload.nodes))}"
        case CancelRequested():
            return _by(payload.by, payload.reason)
        case RequestRefused():
            return f"{payload.request}: {payload.code}: {payload.reason}"
        case HookDecided():
            told = [
                *hook_reasons(payload),
                *(f"{each.plugin}: {text}" for each in payload.decisions for text in each.messages),
            ]
            return f"{payload.hook}: {'; '.join(told) or payload.verdict}"
        case _:
            return ""


def _of_node(payload: Payload) -> str:
    match payload:
        case NodeFailed():
            return error_text(payload.error)
        case NodeSkipped():
            return _SKIPPED[payload.reason]
        case ConditionEvaluated():
            return error_text(payload.error) if payload.error else str(payload.value).lower()
        case FanOutExpanded():
            return error_text(payload.error) if payload.error else f"{payload.count} items"
        case LoopIterationStarted():
            return f"round {payload.iteration}"
        case LoopIterationFinished():
            return f"round {payload.iteration} {payload.outcome}"
        case LoopFinished():
            return error_text(payload.error) if payload.error else f"after {payload.iteration} rounds"
        case WaitCreated():
            return f"{payload.stage}: {payload.prompt if isinstance(payload.prompt, str) else '(a long prompt)'}"
        case WaitResolved():
            return f"{answer_word(payload.approved)} {_by(payload.by, payload.comment)}"
        case WaitDeadlineExceeded():
            return "nobody answered in time: " + ("counts as approved" if payload.approved else "the step fails")
        case WaitClosed():
            return f"the run {'failed' if payload.reason == 'failed' else 'is being cancelled'}"
        case _:
            return ""


_SKIPPED = {"condition": "its condition is false", "upstream": "something it depends on did not run or failed"}


def _of_attempt(payload: Payload) -> str:
    match payload:
        case AttemptCreated():
            return f"attempt {payload.attempt}"
        case ActivityFailed() | ActivityTimedOut() | ComponentFailed():
            return error_text(payload.error)
        case ActivityCancelled():
            return "" if payload.outcome == "none" else f"its effect: {payload.outcome}"
        case ComponentSucceeded():
            return _span(payload.latency_ms)
        case EffectAttempted():
            return f"{payload.provider} {payload.idempotency_key}"
        case EffectSettled():
            return f"{payload.outcome} {error_text(payload.error) if payload.error else _span(payload.latency_ms)}"
        case ReconcileResult():
            return f"{payload.outcome}: {payload.reason}" + (f" (by {payload.by})" if payload.by else "")
        case LateOutcome():
            return payload.outcome
        case RetryScheduled():
            return f"attempt {payload.next_attempt} in {duration(payload.delay_ms)}"
        case CancelDelivered():
            return f"{payload.signal} ({payload.reason})"
        case LeftoversEnded():
            return f"{payload.processes} left in the background"
        case _:
            return ""


def _of_sampling(payload: Payload) -> str:
    match payload:
        case SamplingLoopStarted(loop_budget=budget):
            return f"{payload.strategy_name}, {'one draw' if budget == 1 else f'{budget} draws at the most'}"
        case GenerationStarted(purpose="judge"):
            return f"draw {payload.draw} judged for {payload.requirement}: {payload.agent}"
        case GenerationStarted():
            return f"draw {payload.draw}: {payload.agent}"
        case GenerationFinished(interrupted=True):
            return f"draw {payload.draw} interrupted"
        case GenerationFinished():
            return error_text(payload.error) if payload.error else _span(payload.latency_ms)
        case GenerationRetryScheduled():
            return f"draw {payload.draw} again in {duration(payload.delay_ms)}"
        case ValidationFinished(validations=validations):
            passed = sum(validation.passed for validation in validations)
            return f"draw {payload.draw}: {passed} of {len(validations)} passed" if validations else "nothing to check"
        case SamplingIteration():
            return f"draw {payload.draw} {'; '.join([_passed(payload.passed), *_notable(payload.validations)])}"
        case SamplingRepair():
            return f"after draw {payload.draw}: {payload.repair_type}"
        case SamplingLoopEnded(success=True):
            return f"draw {payload.draw} of {payload.iterations}"
        case SamplingLoopEnded():
            return f"no draw of {payload.iterations}: {payload.failure_reason or 'failed'}"
        case _:
            return ""


def failure_reasons(validations: list[EffectiveValidation]) -> list[str]:
    """The requirements that an answer does not meet, each with its reason."""
    return [
        f"{validation.requirement}: {validation.reason or 'failed'}"
        for validation in validations
        if not validation.effective_passed
    ]


def _notable(validations: list[EffectiveValidation]) -> list[str]:
    turned = [
        f"{validation.requirement} turned by {validation.changed_by}"
        for validation in validations
        if validation.effective_passed != validation.passed
    ]
    return [*failure_reasons(validations), *turned]


def _passed(passed: bool) -> str:
    return "passed" if passed else "failed"


def _by(who: str, why: str | None) -> str:
    return f"by {who}: {why}" if why else f"by {who}"


def hook_reasons(decided: HookDecided) -> list[str]:
    """Which hooks said something other than allow, and why."""
    return [
        f"{decision.plugin} {decision.outcome}" + (f" ({decision.reason})" if decision.reason else "")
        for decision in decided.decisions
        if decision.outcome not in ("allow", "not_run")
    ]


def _span(latency_ms: int) -> str:
    return f"in {duration(latency_ms)}"
