"""From events to spans: what is over is told once, when the event that ends it is read, and never otherwise again.

    run ─ node ─ [iteration ─ node] ─ [item] ─ attempt ─ generation | execution | reconciling | wait | hook

One builder reads one log from its beginning; it keeps what is open and little of what is over. It reads no clock and no
file, so that the spans of a prefix of a log are spans of the whole. A run that ended and is tried again goes on in the
same trace with a second span of the run, and of each node that is done again. What has not ended has no span yet: of a
run that waits for a person, or is in doubt, those of its parts that are over are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hooks.definition.model import DecisionNode, HostExecutorNode, LoopNode, SubagentNode, Workflow, every_node
from hooks.events.envelope import Event
from hooks.events.payloads import (
    ActivityCancelled,
    ActivityFailed,
    ActivityRunning,
    ActivitySucceeded,
    ActivityTimedOut,
    AttemptCreated,
    AttemptPayload,
    CancelRequested,
    ClosingPayload,
    ComponentFailed,
    ComponentSucceeded,
    ConditionEvaluated,
    EffectAttempted,
    EffectSettled,
    ErrorInfo,
    FanOutExpanded,
    GenerationFinished,
    GenerationRetryScheduled,
    GenerationStarted,
    HookDecided,
    LoopIterationFinished,
    LoopIterationStarted,
    LoopStarted,
    NodeCancelled,
    NodeFailed,
    NodeImported,
    NodePayload,
    NodeSkipped,
    NodeSucceeded,
    ReconcileResult,
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
    WaitClosed,
    WaitCreated,
    WaitDeadlineExceeded,
    WaitResolved,
)
from hooks.telemetry import generative
from hooks.telemetry.spans import Attributes, Span, SpanEvent, SpanLink, span_id, trace_id

STATUS = "hooks.status"
RUN = "hooks.run.id"
DRIVER = "hooks.driver"
"""The ordinal of the driver that saw it end: 1 for the one that began the run."""

_Resolve: TypeAlias = Callable[[Any], Any]
_Turns: TypeAlias = tuple[tuple[Any, Any], ...]
_RUN_STATUS = {RunSucceeded: "succeeded", RunFailed: "failed", RunBlocked: "blocked", RunCancelled: "cancelled"}
_NODE_TYPES = {SubagentNode: "subagent", HostExecutorNode: "host_executor", LoopNode: "loop", DecisionNode: "decision"}


@dataclass(slots=True)
class _Open:
    """A span that has begun."""

    span_id: str
    parent_id: str | None
    name: str
    start: int
    attributes: Attributes
    kind: Literal["internal", "client"] = "internal"
    events: list[SpanEvent] = field(default_factory=list)
    links: tuple[SpanLink, ...] = ()


@dataclass(slots=True)
class _Attempt:
    """An attempt under way, with what goes on in it."""

    span: _Open
    activity_id: str
    node_id: str
    item: tuple[str, str, int] | None
    generations: dict[str, _Open] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    """How often each call was begun: one that was interrupted is made again under its id."""
    execution: _Open | None = None
    executions: int = 0
    reconciled: int = 0
    """How often something was learned of its effect."""
    turns: dict[int, _Turns] = field(default_factory=dict)
    """The conversation with each draw in it, as the log has it; only where content is told."""
    begun: _Turns = ()


class SpanBuilder:
    """Turns the events of one run into spans, in order."""

    def __init__(
        self,
        run_id: str,
        definition: Workflow,
        *,
        resolve: _Resolve,
        content: bool = False,
        mask: Callable[[str], str] = str,
    ) -> None:
        """`resolve` gives the value of a blob reference; `content` has prompts and answers told; `mask` sees each text
        before it is."""
        self._run_id = run_id
        self._workflow_id = definition.workflow_id
        self._trace_id = trace_id(run_id)
        self._agents = {agent.name: agent for agent in definition.agents}
        self._nodes = {node.id: node for node in every_node(definition)}
        self._resolve = resolve
        self._content = content
        self._mask = mask
        self._driver = 1
        self._run: _Open | None = None
        self._runs = 0
        self._root: str | None = None
        self._times: Counter[str] = Counter()
        """How often each node, item and round was begun: a run that is tried again does so once more."""
        self._open_nodes: dict[tuple[str, str], _Open] = {}
        self._rounds: dict[str, _Open] = {}
        self._items: dict[tuple[str, str, int], _Open] = {}
        self._item_ends: dict[tuple[str, str, int], tuple[int, ErrorInfo | None, str]] = {}
        self._attempts: dict[str, _Attempt] = {}
        self._attempt_of: dict[str, str] = {}
        """The open attempt of each activity."""
        self._waits: dict[str, _Open] = {}
        self._wait_in: dict[str, str] = {}
        """The attempt that stands at a gate."""
        self._said: dict[str, _Turns] = {}
        """What was said in the conversation of an activity that is over; only where content is told."""

    def receive(self, event: Event) -> list[Span]:
        """The spans that end with this event, the inner before the outer."""
        return list(self._received(event))

    def _received(self, event: Event) -> Iterator[Span]:
        payload, at = event.payload, event.timestamp
        match payload:
            case AttemptPayload():
                yield from self._attempt_event(payload, at)
            case NodePayload():
                yield from self._node_event(payload, at)
            case HookDecided():
                yield self._hook(payload, event.seq, at)
            case WaitCreated() | WaitResolved() | WaitDeadlineExceeded() | WaitClosed():
                yield from self._wait_event(payload, at)
            case _:
                yield from self._run_event(payload, at)

    # ---- the run ---------------------------------------------------------------------------------------------------

    def _run_event(self, payload: Any, at: int) -> Iterator[Span]:
        match payload:
            case RunCreated():
                links: tuple[SpanLink, ...] = ()
                if (origin := payload.forked_from) is not None:
                    links = (SpanLink(trace_id(origin.run_id), span_id(origin.run_id, "run", 1)),)
                self._begin_run(at, links)
            case RunReopened():
                before = SpanLink(self._trace_id, self._root or "")
                self._begin_run(at, (before,))
                self._note_on(self._run, "hooks.reopened", at, {"hooks.nodes": len(payload.nodes)})
            case ResumeStarted():
                self._driver += 1
                self._note_on(self._run, "hooks.resumed", at, {DRIVER: self._driver})
            case CancelRequested(node=None):
                self._note_on(self._run, "hooks.cancel_requested", at, {})
            case RunSucceeded() | RunFailed() | RunBlocked() | RunCancelled():
                yield from self._end_run(_RUN_STATUS[type(payload)], getattr(payload, "error", None), at)
            case _:
                pass

    def _begin_run(self, at: int, links: tuple[SpanLink, ...]) -> None:
        self._runs += 1
        self._root = span_id(self._run_id, "run", self._runs)
        attributes: Attributes = {
            generative.OPERATION: "invoke_workflow",
            generative.WORKFLOW: self._workflow_id,
            generative.CONVERSATION: self._run_id,
        }
        self._run = _Open(self._root, None, f"invoke_workflow {self._workflow_id}", at, attributes, links=links)

    def _end_run(self, status: str, error: ErrorInfo | None, at: int) -> Iterator[Span]:
        """End the run, and whatever nobody has said the end of."""
        for attempt_id in list(self._attempts):
            yield from self._end_attempt(attempt_id, "unfinished", None, at)
        yield from (self._ended(wait, at, "closed") for wait in self._waits.values())
        yield from (self._ended(item, at, "unfinished") for item in self._items.values())
        yield from (self._ended(node, at, "unfinished") for (scope, _), node in self._open_nodes.items() if scope)
        yield from (self._ended(part, at, "unfinished") for part in self._rounds.values())
        yield from (self._ended(node, at, "unfinished") for (scope, _), node in self._open_nodes.items() if not scope)
        for opened in (self._waits, self._items, self._item_ends, self._open_nodes, self._rounds):
            opened.clear()
        if self._run is not None:
            yield self._ended(self._run, at, status, error)
            self._run = None

    # ---- nodes, rounds, items --------------------------------------------------------------------------------------

    def _node_event(self, payload: NodePayload, at: int) -> Iterator[Span]:
        node = self._node(payload.scope, payload.node_id, at)
        match payload:
            case NodeSucceeded():
                yield from self._end_node(payload, "succeeded", None, at)
            case NodeFailed(error=error):
                node.attributes["hooks.effect.done"] = payload.effect_done
                yield from self._end_node(payload, "failed", error, at)
            case NodeSkipped(reason=reason):
                node.attributes["hooks.skipped.reason"] = reason
                yield from self._end_node(payload, "skipped", None, at)
            case NodeCancelled():
                yield from self._end_node(payload, "cancelled", None, at)
            case NodeImported(status=status):
                node.attributes["hooks.node.imported"] = True
                yield from self._end_node(payload, status, None, at)
            case ConditionEvaluated(value=value):
                node.attributes["hooks.node.condition"] = value
            case FanOutExpanded(count=count):
                node.attributes["hooks.node.items"] = count
            case LoopIterationStarted(iteration=number):
                scope = f"{payload.node_id}.{number}"
                self._rounds[scope] = self._begin(
                    f"iteration {payload.node_id}",
                    ("iteration", scope),
                    node.span_id,
                    at,
                    {"hooks.node.id": payload.node_id, "hooks.loop.iteration": number},
                )
            case LoopIterationFinished(iteration=number, outcome=outcome):
                part = self._rounds.pop(f"{payload.node_id}.{number}", None)
                if part is not None:
                    yield self._ended(part, at, outcome)
            case LoopStarted() | _:
                pass

    def _node(self, scope: str, node_id: str, at: int) -> _Open:
        """The node, begun if it had not."""
        found = self._open_nodes.get((scope, node_id))
        if found is None:
            outer = self._rounds.get(scope) if scope else self._run
            attributes: Attributes = {"hooks.node.id": node_id}
            if (definition := self._nodes.get(node_id)) is not None:
                attributes["hooks.node.type"] = _NODE_TYPES[type(definition)]
            if scope:
                attributes["hooks.loop.scope"] = scope
            parent = outer.span_id if outer is not None else self._root
            found = self._begin(f"node {node_id}", ("node", scope, node_id), parent, at, attributes)
            self._open_nodes[scope, node_id] = found
        return found

    def _end_node(self, payload: NodePayload, status: str, error: ErrorInfo | None, at: int) -> Iterator[Span]:
        place = payload.scope, payload.node_id
        for key in [key for key in self._item_ends if key[:2] == place]:
            ended_at, item_error, item_status = self._item_ends.pop(key)
            yield self._ended(self._items.pop(key), ended_at, item_status, item_error)
        yield self._ended(self._open_nodes.pop(place), at, status, error)

    def _begin(
        self, name: str, key: tuple[str | int, ...], parent: str | None, at: int, attributes: Attributes
    ) -> _Open:
        """Begin what may be begun again in a run that is tried again."""
        self._times["\n".join(map(str, key))] += 1
        number = self._times["\n".join(map(str, key))]
        return _Open(span_id(self._run_id, *key, number), parent, name, at, attributes)

    # ---- attempts --------------------------------------------------------------------------------------------------

    def _attempt_event(self, payload: AttemptPayload, at: int) -> Iterator[Span]:
        if isinstance(payload, AttemptCreated):
            self._begin_attempt(payload, at)
            return
        attempt = self._attempts.get(payload.attempt_id)
        if attempt is None:
            if isinstance(payload, RetryScheduled):
                self._note_retry(payload, at)
            return
        match payload:
            case ClosingPayload():
                yield from self._closed(attempt, payload, at)
            case GenerationStarted() | GenerationFinished():
                yield from self._generation_event(attempt, payload, at)
            case ActivityRunning() | EffectAttempted() | EffectSettled() | ReconcileResult():
                yield from self._execution_event(attempt, payload, at)
            case ComponentSucceeded() | ComponentFailed():
                error = payload.error if isinstance(payload, ComponentFailed) else None
                yield from self._end_execution(attempt, "failed" if error else "succeeded", error, at)
            case SamplingLoopStarted():
                attempt.span.attributes |= {
                    "hooks.sampling.strategy": payload.strategy_name,
                    "hooks.sampling.loop_budget": payload.loop_budget,
                }
            case SamplingIteration(draw=draw, passed=passed):
                failed = [check.requirement for check in payload.validations if not check.effective_passed]
                self._note_on(
                    attempt.span,
                    "hooks.sampling.iteration",
                    at,
                    {"hooks.draw": draw, "hooks.passed": passed, "hooks.requirements.failed": failed},
                )
            case SamplingLoopEnded(success=success, iterations=iterations):
                attempt.span.attributes |= {"hooks.sampling.success": success, "hooks.sampling.iterations": iterations}
                if payload.draw in attempt.turns:
                    self._said[payload.activity_id] = attempt.turns[payload.draw or 0]
            case GenerationRetryScheduled(delay_ms=delay):
                self._note_on(attempt.span, "hooks.retry_scheduled", at, {"hooks.retry.delay_ms": delay})
            case _:
                if self._content and (continues := getattr(payload, "continues", None)) is not None:
                    attempt.begun = self._said.get(continues, ())

    def _begin_attempt(self, created: AttemptCreated, at: int) -> None:
        outer = self._node(created.scope, created.node_id, at)
        item = None
        if created.item is not None:
            item = (created.scope, created.node_id, created.item)
            if item not in self._items:
                attributes: Attributes = {"hooks.node.id": created.node_id, "hooks.item.index": created.item}
                name = f"item {created.node_id}"
                self._items[item] = self._begin(name, ("item", *item), outer.span_id, at, attributes)
            outer = self._items[item]
        attributes = {
            "hooks.node.id": created.node_id,
            "hooks.activity.id": created.activity_id,
            "hooks.attempt.number": created.attempt,
        }
        name, definition = f"attempt {created.node_id}", self._nodes.get(created.node_id)
        if isinstance(definition, SubagentNode):
            name = f"invoke_agent {definition.agent}"
            attributes[generative.OPERATION] = "invoke_agent"
            attributes |= generative.agent_attributes(
                definition.agent, self._agents.get(definition.agent), self._run_id
            )
        span = _Open(span_id(self._run_id, created.attempt_id), outer.span_id, name, at, attributes)
        self._attempts[created.attempt_id] = _Attempt(span, created.activity_id, created.node_id, item)
        self._attempt_of[created.activity_id] = created.attempt_id

    def _closed(self, attempt: _Attempt, payload: ClosingPayload, at: int) -> Iterator[Span]:
        error: ErrorInfo | None = None
        match payload:
            case ActivitySucceeded():
                status = "succeeded"
            case ActivityFailed(error=error):
                status = "interrupted" if payload.interrupted else "failed"
                attempt.span.attributes["hooks.effect.done"] = payload.effect_done
            case ActivityTimedOut(error=error):
                status = "timed_out"
                attempt.span.attributes["hooks.effect.done"] = payload.effect_done
            case ActivityCancelled(outcome=outcome):
                status = "cancelled"
                attempt.span.attributes["hooks.effect.outcome"] = outcome
            case _:
                status = payload.type
        yield from self._end_attempt(payload.attempt_id, status, error, at)
        if attempt.item is not None and attempt.item in self._items:
            if status == "succeeded":
                self._item_ends.pop(attempt.item, None)
                yield self._ended(self._items.pop(attempt.item), at, status)
            else:  # unless it is tried again, this was its end
                self._item_ends[attempt.item] = (at, error, status)

    def _end_attempt(self, attempt_id: str, status: str, error: ErrorInfo | None, at: int) -> Iterator[Span]:
        attempt = self._attempts.pop(attempt_id)
        self._attempt_of.pop(attempt.activity_id, None)
        yield from (self._ended(call, at, "interrupted") for call in attempt.generations.values())
        yield from self._end_execution(attempt, status, error, at)
        for wait_id in [wait_id for wait_id, place in self._wait_in.items() if place == attempt_id]:
            del self._wait_in[wait_id]
            yield self._ended(self._waits.pop(wait_id), at, "closed")
        yield self._ended(attempt.span, at, status, error)

    def _note_retry(self, scheduled: RetryScheduled, at: int) -> None:
        """On the node: the attempt is over."""
        for (_, node_id), node in self._open_nodes.items():
            if node_id == scheduled.node_id:
                self._note_on(node, "hooks.retry_scheduled", at, {"hooks.retry.delay_ms": scheduled.delay_ms})
                return

    # ---- what goes on in an attempt --------------------------------------------------------------------------------

    def _generation_event(
        self, attempt: _Attempt, payload: GenerationStarted | GenerationFinished, at: int
    ) -> Iterator[Span]:
        call = attempt.generations.pop(payload.generation_id, None)
        if isinstance(payload, GenerationStarted):
            if call is not None:  # its driver died, and nothing was learned of it
                yield self._ended(call, at, "interrupted")
            attempt.generations[payload.generation_id] = self._begun_call(attempt, payload, at)
            return
        if call is None:
            return
        call.attributes |= generative.response_attributes(payload)
        if self._content and payload.text is not None:
            text = self._said_text(payload.text)
            call.attributes[generative.OUTPUT_MESSAGES] = generative.answer(text, payload.finish_reason)
            if payload.draw in attempt.turns and call.attributes["hooks.generation.purpose"] == "draw":
                *before, (prompt, _) = attempt.turns[payload.draw]
                attempt.turns[payload.draw] = (*before, (prompt, payload.text))
        status = "interrupted" if payload.interrupted else "failed" if payload.error else "succeeded"
        yield self._ended(call, at, status, payload.error)

    def _begun_call(self, attempt: _Attempt, started: GenerationStarted, at: int) -> _Open:
        agent = self._agents.get(started.agent)
        options = self._resolve(started.model_options)
        attributes: Attributes = {
            generative.OPERATION: "chat",
            **generative.agent_attributes(started.agent, agent, self._run_id),
            **generative.request_attributes(agent, started, options),
            "hooks.node.id": started.node_id,
            "hooks.generation.id": started.generation_id,
            "hooks.generation.purpose": started.purpose,
            "hooks.draw": started.draw,
        }
        if started.requirement is not None:
            attributes["hooks.requirement"] = started.requirement
        if self._content:
            before = attempt.begun
            if started.purpose == "draw":
                before = attempt.turns.get(started.after, ()) if started.after is not None else before
                attempt.turns[started.draw] = (*before, (started.prompt, None))
            else:
                before = ()
            turns = [(self._said_text(prompt), self._said_text(answer)) for prompt, answer in before]
            attributes[generative.INPUT_MESSAGES] = generative.messages(turns, self._said_text(started.prompt))
        attempt.calls[started.generation_id] += 1
        named = span_id(self._run_id, started.generation_id, attempt.calls[started.generation_id])
        model = attributes.get("gen_ai.request.model")
        name = "chat" if model is None else f"chat {model}"
        return _Open(named, attempt.span.span_id, name, at, attributes, kind="client")

    def _said_text(self, reference: Any) -> Any:
        """What a message holds. Masked before it is written as JSON: a text that is JSON is then escaped once more."""
        text = self._resolve(reference)
        return self._mask(text) if isinstance(text, str) else text

    def _execution_event(
        self,
        attempt: _Attempt,
        payload: ActivityRunning | EffectAttempted | EffectSettled | ReconcileResult,
        at: int,
    ) -> Iterator[Span]:
        match payload:
            case ActivityRunning() | EffectAttempted():
                yield from self._end_execution(attempt, "interrupted", None, at)
                self._begin_execution(attempt, payload, at)
            case EffectSettled(outcome=outcome):
                attempt.span.attributes["hooks.effect.outcome"] = outcome
                yield from self._end_execution(attempt, outcome, payload.error, at)
            case ReconcileResult(outcome=outcome):
                attempt.span.attributes["hooks.effect.outcome"] = outcome
                yield from self._end_execution(attempt, outcome, payload.error, at)
                yield self._reconciled(attempt, payload, at)

    def _begin_execution(self, attempt: _Attempt, permit: ActivityRunning | EffectAttempted, at: int) -> None:
        definition = self._nodes.get(attempt.node_id)
        if not isinstance(definition, HostExecutorNode):
            return  # an agent whose answers have consequences: its generation says it
        attributes: Attributes = {
            generative.OPERATION: "execute_tool",
            generative.TOOL: definition.executor,
            generative.TOOL_TYPE: "function",
            "hooks.node.id": attempt.node_id,
            "hooks.read_only": isinstance(permit, ActivityRunning),
        }
        if isinstance(permit, EffectAttempted):
            attributes |= {generative.TOOL_CALL: permit.idempotency_key, "hooks.effect.provider": permit.provider}
        attempt.executions += 1
        named = span_id(self._run_id, permit.attempt_id, "execution", attempt.executions)
        attempt.execution = _Open(named, attempt.span.span_id, f"execute_tool {definition.executor}", at, attributes)

    def _end_execution(self, attempt: _Attempt, outcome: str, error: ErrorInfo | None, at: int) -> Iterator[Span]:
        execution, attempt.execution = attempt.execution, None
        if execution is not None:
            yield self._ended(execution, at, outcome, error)

    def _reconciled(self, attempt: _Attempt, result: ReconcileResult, at: int) -> Span:
        """What was learned of an effect, which takes no time here: in doubt is told long before its attempt is over."""
        attempt.reconciled += 1
        attributes: Attributes = {
            "hooks.node.id": attempt.node_id,
            "hooks.effect.outcome": result.outcome,
            "hooks.by": "provider" if result.by is None else "person",
        }
        named = span_id(self._run_id, result.attempt_id, "reconciled", attempt.reconciled)
        name = f"reconcile {attempt.node_id}"
        span = _Open(named, attempt.span.span_id, name, at, attributes)
        return self._ended(span, at, result.outcome, result.error)

    # ---- people and hooks ------------------------------------------------------------------------------------------

    def _wait_event(
        self, payload: WaitCreated | WaitResolved | WaitDeadlineExceeded | WaitClosed, at: int
    ) -> Iterator[Span]:
        if isinstance(payload, WaitCreated):
            self._begin_wait(payload, at)
            return
        wait = self._waits.pop(payload.wait_id, None)
        self._wait_in.pop(payload.wait_id, None)
        if wait is None:
            return
        wait.attributes["hooks.wait.overdue"] = isinstance(payload, WaitDeadlineExceeded)
        if isinstance(payload, WaitClosed):
            yield self._ended(wait, at, "closed")
        else:
            yield self._ended(wait, at, "approved" if payload.approved else "rejected")

    def _begin_wait(self, created: WaitCreated, at: int) -> None:
        attempt_id = self._attempt_of.get(created.work_activity_id or "")
        if attempt_id is not None:
            self._wait_in[created.wait_id] = attempt_id
            parent: str | None = self._attempts[attempt_id].span.span_id
        else:
            parent = self._node(created.scope, created.node_id, at).span_id if created.node_id else self._root
        attributes: Attributes = {"hooks.wait.stage": created.stage, "hooks.wait.id": created.wait_id}
        if created.node_id:
            attributes["hooks.node.id"] = created.node_id
        name = f"wait {created.node_id}" if created.node_id else "wait"
        self._waits[created.wait_id] = _Open(span_id(self._run_id, created.wait_id), parent, name, at, attributes)

    def _hook(self, decided: HookDecided, seq: int, at: int) -> Span:
        """One dispatch; its beginning follows from how long its hooks took, which the event says."""
        attempt = self._attempts.get(decided.attempt_id or "")
        outer = self._run if attempt is None else attempt.span
        asked = [decision for decision in decided.decisions if decision.mode != "fire_and_forget"]
        begun = at - round(sum(decision.duration_ms for decision in asked))
        attributes: Attributes = {
            "hooks.hook": decided.hook,
            "hooks.hook.verdict": decided.verdict,
            "hooks.hook.plugins": [decision.plugin for decision in decided.decisions],
            "hooks.hook.outcomes": [decision.outcome for decision in decided.decisions],
            "hooks.hook.codes": [decision.code for decision in decided.decisions if decision.code],
        }
        if decided.node_id:
            attributes["hooks.node.id"] = decided.node_id
        start = begun if outer is None else min(at, max(begun, outer.start))
        parent = self._root if outer is None else outer.span_id
        span = _Open(span_id(self._run_id, "hook", seq), parent, f"hook {decided.hook}", start, attributes)
        failed = next((decision for decision in decided.decisions if decision.outcome == "error"), None)
        if failed is None:
            return self._ended(span, at, decided.verdict)
        error = ErrorInfo(error_code="HookFailed", error_class="hook_error", error_message=failed.reason or "")
        return self._ended(span, at, decided.verdict, error)

    # ---- spans -----------------------------------------------------------------------------------------------------

    def _note_on(self, span: _Open | None, name: str, at: int, attributes: Attributes) -> None:
        if span is not None:
            span.events.append(SpanEvent(name, at, self._masked(attributes)))

    def _ended(self, span: _Open, at: int, status: str, error: ErrorInfo | None = None) -> Span:
        attributes = {**span.attributes, RUN: self._run_id, STATUS: status, DRIVER: self._driver}
        if error is not None:
            attributes |= {generative.ERROR_TYPE: error.error_code, "hooks.error.class": error.error_class}
        return Span(
            trace_id=self._trace_id,
            span_id=span.span_id,
            parent_id=span.parent_id,
            name=self._mask(span.name),
            kind=span.kind,
            start=span.start,
            end=at,
            attributes=self._masked(attributes),
            error=None if error is None else self._mask(error.error_message),
            events=tuple(span.events),
            links=span.links,
        )

    def _masked(self, attributes: Attributes) -> Attributes:
        return {
            name: self._mask(value)
            if isinstance(value, str)
            else [self._mask(text) for text in value]
            if isinstance(value, list)
            else value
            for name, value in attributes.items()
        }
