"""The draws of agent steps, as the log tells them: a loop that is over is no part of a run's state any more.

Of each activity the last attempt is told. What hooks did to a verdict stands beside what was found without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hooks.definition.model import SubagentNode, every_node
from hooks.events.payloads import GenerationFinished, GenerationStarted, HookDecision
from hooks.ids import ActivityId
from hooks.kernel.state import AttemptState, DrawState, LoopState
from hooks.runtime.reading import Folding, RunView, read_events
from hooks_cli.render.errors import error_document
from hooks_cli.render.text import iso_time_or_none

Document: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Made:
    """A call of an agent, and how it ended."""

    started: GenerationStarted
    finished: GenerationFinished | None = None


@dataclass(slots=True)
class DrawnAttempt:
    """The attempt of an agent step, with all its calls by number."""

    attempt: AttemptState
    calls: dict[int, Made] = field(default_factory=dict)

    @property
    def loop(self) -> LoopState:
        assert self.attempt.loop is not None, "an attempt that called its agent has a loop"
        return self.attempt.loop

    def telling_call(self) -> int:
        """The call a person wants to see first: of the chosen draw, or the last one where the loop broke off."""
        ended = self.loop.ended
        if ended is None or ended.error is not None or ended.draw is None:
            return max(self.calls)
        return self.loop.draws[ended.draw].started.call

    def call(self, number: int | None) -> int | None:
        """The call of this number, if there was one."""
        return number if number in self.calls else None

    def call_of_draw(self, draw: int) -> int | None:
        """The last call that was made for a draw."""
        made = [number for number, call in self.calls.items() if _is_draw(call, draw)]
        return max(made, default=None)


def may_draw_again(view: RunView) -> bool:
    """Whether a step of the run can have more than one draw: it says so itself, or a hook may have."""
    return bool(view.state.hook_set) or any(
        isinstance(node, SubagentNode) and node.sampling is not None for node in every_node(view.definition)
    )


def drawn_attempts(view: RunView) -> dict[ActivityId, DrawnAttempt]:
    """The last attempt that called an agent, of each agent step."""
    if not any(isinstance(node, SubagentNode) for node in every_node(view.definition)):
        return {}
    folding, found = Folding(view.directory), dict[ActivityId, DrawnAttempt]()
    for event in read_events(view.directory):
        folding.receive(event)
        match event.payload:
            case GenerationStarted() as started:
                _noted(found, folding.state.open[ActivityId(started.activity_id)]).calls[started.call] = Made(started)
            case GenerationFinished() as finished:
                calls = found[ActivityId(finished.activity_id)].calls.values()
                made = next(call for call in calls if call.started.generation_id == finished.generation_id)
                made.finished = finished
            case _:
                pass
    return found


def _noted(found: dict[ActivityId, DrawnAttempt], attempt: AttemptState) -> DrawnAttempt:
    known = found.get(attempt.activity_id)
    if known is None or known.attempt is not attempt:
        known = found[attempt.activity_id] = DrawnAttempt(attempt)
    return known


def draw_counts(drawn: Mapping[ActivityId, DrawnAttempt]) -> dict[ActivityId, Document]:
    """How many draws each step has come to, of how many: what fits beside a node in a list."""
    return {
        activity_id: {"draws": len(each.loop.draws), "loop_budget": _budget(each)}
        for activity_id, each in drawn.items()
    }


def sampling_document(view: RunView, drawn: DrawnAttempt) -> Document:
    """The loop of an attempt, with its draws in order."""
    loop = drawn.loop
    ended, started = loop.ended, loop.started
    return {
        "attempt": drawn.attempt.number,
        "strategy": None if started is None else started.strategy_name,
        "loop_budget": _budget(drawn),
        "success": None if ended is None else ended.success,
        "chosen": None if ended is None else ended.draw,
        "iterations": sum(draw.iteration is not None for draw in loop.draws.values()),
        "failure_reason": None if ended is None else ended.failure_reason,
        "error": error_document(None if ended is None else ended.error),
        "next_try_at": iso_time_or_none(view.state.pauses.get(drawn.attempt.activity_id)),
        "removed": [] if started is None else [*_removed(view, drawn, "component_pre_execute", 1)],
        "draws": [_draw_document(view, drawn, loop.draws[number]) for number in sorted(loop.draws)],
    }


def _draw_document(view: RunView, drawn: DrawnAttempt, draw: DrawState) -> Document:
    resolve, finished, iteration = view.blobs.resolve, draw.finished, draw.iteration
    verdicts = _verdicts(view, draw)
    ended = drawn.loop.ended
    return {
        "draw": draw.number,
        "call": draw.started.call,
        "agent": draw.started.agent,
        "passed": None if iteration is None else iteration.passed,
        "chosen": ended is not None and ended.draw == draw.number,
        "score": _score(verdicts) if iteration is not None and verdicts else None,
        "validations": verdicts,
        "removed": [*_removed(view, drawn, "validation_pre_check", draw.number)],
        "repair_type": None if draw.repair is None else draw.repair.repair_type,
        "text": None if finished is None else resolve(finished.text),
        "model": None if finished is None else finished.model,
        "usage": None if finished is None else finished.usage,
        "latency_ms": None if finished is None else finished.latency_ms,
        "finish_reason": None if finished is None else finished.finish_reason,
        "errors": [
            {
                "call": number,
                **(error_document(call.finished.error) or {}),
                "stack_trace": call.finished.stack_trace,
            }
            for number, call in sorted(drawn.calls.items())
            if call.started.draw == draw.number and call.finished is not None and call.finished.error is not None
        ],
        "judgements": [*_judgements(view, drawn, draw.number)],
    }


def _verdicts(view: RunView, draw: DrawState) -> list[Document]:
    """The verdicts that count, each beside what the check said; before they count, what the checks said."""
    if draw.validated is None:
        return []
    weights = {entry["name"]: entry.get("weight", 1.0) for entry in view.blobs.resolve(draw.validated.requirements)}
    counting = {each.requirement: each for each in draw.iteration.validations} if draw.iteration is not None else {}
    documents = []
    for raw in draw.validated.validations:
        counts = counting.get(raw.requirement)
        documents.append(
            {
                "requirement": raw.requirement,
                "passed": raw.passed,
                "effective_passed": raw.passed if counts is None else counts.effective_passed,
                "score": raw.score,
                "reason": raw.reason if counts is None else counts.reason,
                "raw_reason": raw.reason,
                "changed_by": None if counts is None else counts.changed_by,
                "weight": weights[raw.requirement],
            }
        )
    return documents


def _score(verdicts: list[Document]) -> float:
    """As best_of counts it: each weight times the score, which is 1 for what passed without one."""
    given = [float(each["effective_passed"]) if each["score"] is None else each["score"] for each in verdicts]
    return float(sum(each["weight"] * score for each, score in zip(verdicts, given, strict=True)))


def _judgements(view: RunView, drawn: DrawnAttempt, draw: int) -> Iterator[Document]:
    for number, call in sorted(drawn.calls.items()):
        if call.started.purpose == "judge" and call.started.draw == draw:
            finished = call.finished
            yield {
                "requirement": call.started.requirement,
                "call": number,
                "agent": call.started.agent,
                "text": None if finished is None else view.blobs.resolve(finished.text),
                "usage": None if finished is None else finished.usage,
                "latency_ms": None if finished is None else finished.latency_ms,
            }


def _removed(view: RunView, drawn: DrawnAttempt, point: str, ordinal: int) -> Iterator[Document]:
    """The requirements that hooks took away at one question, each with who did; those put back are not among them."""
    for decision in _decisions(drawn.attempt, point, ordinal):
        change = decision.changed.get("requirements")
        if change is None:
            continue
        before, after = (view.blobs.resolve(side) for side in (change.before, change.after))
        left = {requirement["name"] for requirement in after}
        for requirement in before:
            if requirement["name"] not in left and requirement.get("origin") != requirement["name"]:
                yield {"requirement": requirement["name"], "removed_by": decision.plugin}


def _decisions(attempt: AttemptState, point: str, ordinal: int) -> list[HookDecision]:
    """What hooks said at one question; of several answers the last counts."""
    said = [
        logged.decided.decisions
        for logged in attempt.hooks
        if logged.decided.hook == point and logged.decided.ordinal == ordinal
    ]
    changing = [decisions for decisions in said if any(decision.changed for decision in decisions)]
    return changing[-1] if changing else []


def _budget(drawn: DrawnAttempt) -> int:
    started = drawn.loop.started
    budget = 1 if started is None else started.loop_budget
    for decision in _decisions(drawn.attempt, "sampling_loop_start", 1):
        if "loop_budget" in decision.changed:
            budget = int(decision.changed["loop_budget"].after)
    return budget


def _is_draw(call: Made, draw: int) -> bool:
    return call.started.purpose == "draw" and call.started.draw == draw
