"""A policy tested on history: what hooks would have said at every point of a run that is over, or under way.

Payloads are pure functions of state and event, so they exist for every run, also for one that was made without hooks.
The hooks start at each point from the payload before any hook. What they say is compared with what was said then, if
anything was. Nothing is recorded and nothing follows: the run is read.

After the first difference in an activity the log tells of a world that would have been another one. What comes later in
that activity, and in what depends on it (otherwise.py), is still asked and is marked `assumed`: it holds if the
difference changes nothing there. A point that only the other way would reach is `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from hooks.definition.hook_points import RULES, HookType
from hooks.definition.model import Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import HookDecided, NodeReference, WaitCreated, WaitDeadlineExceeded, WaitResolved
from hooks.ids import ActivityId
from hooks.kernel.apply import apply
from hooks.kernel.state import ActivityState, AttemptState, RunState, WaitState
from hooks.pipeline.dispatch import Dispatch, Json, Subject, Verdict
from hooks.pipeline.effective import is_of_background
from hooks.pipeline.history import Moment, moments_after
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.subjects import subject_of
from hooks.replay.otherwise import Otherwise

Said: TypeAlias = Literal[
    "same", "audit", "would_block", "would_ask", "would_change", "would_allow", "hook_error", "unknown"
]


class Audit(NamedTuple):
    """The "no", or the question, of a hook that looks on."""

    plugin: str
    outcome: str
    reason: str | None


@dataclass(slots=True)
class Finding:
    """What the hooks would say at one point; `said` is `same` where that is what was said then.

    `place` is None for a point of the whole run. `changed` has, by field, the values before and after. `would_allow`:
    something was said then, and nothing now. `audit`: only hooks that look on would say something.
    """

    seq: int
    point: HookType
    place: NodeReference | None
    activity_id: str | None
    said: Said
    plugin: str | None = None
    reason: str | None = None
    code: str | None = None
    changed: dict[str, tuple[Json, Json]] = field(default_factory=dict)
    audits: list[Audit] = field(default_factory=list)
    """What hooks that look on would have said, beside `said`."""
    assumed: bool = False

    @property
    def node_id(self) -> str | None:
        return None if self.place is None else self.place.node_id

    @property
    def stops(self) -> bool:
        """Something that went on would not have, or not without a person."""
        return self.said in ("would_block", "would_ask", "hook_error") and RULES[self.point].can_block


@dataclass(slots=True)
class Totals:
    """How many points were asked about, and what came of it."""

    events: int = 0
    asked: int = 0
    findings: dict[str, int] = field(default_factory=dict)
    by_plugin: dict[str, dict[str, int]] = field(default_factory=dict)

    def count(self, finding: Finding) -> None:
        self.findings[finding.said] = self.findings.get(finding.said, 0) + 1
        if finding.plugin is not None and finding.said != "same":
            self._count_of(finding.plugin, finding.said)
        if finding.said != "same":
            for audit in finding.audits:
                self._count_of(audit.plugin, "audit")

    def _count_of(self, plugin: str, said: Said) -> None:
        of_plugin = self.by_plugin.setdefault(plugin, {})
        of_plugin[said] = of_plugin.get(said, 0) + 1


_ASKED_BEFORE = frozenset({HookType.GENERATION_PRE_CALL, HookType.VALIDATION_PRE_CHECK})
"""Where the event that is the occasion comes after the answer of the hooks, and not at all after a "no"."""

_Key: TypeAlias = tuple[str | None, str, int]


@dataclass(frozen=True, slots=True)
class _Opened:
    """What hooks say at a point, as long as it is not known whether they said so then."""

    finding: Finding
    verdict: Verdict
    follows: list[Finding]
    """What only this answer would reach."""


Accepts: TypeAlias = Callable[[Moment, str, Json], str | None]


class Backtest:
    """Asks the hooks of one pipeline about one run, event by event. The pipeline is open, and of this run alone."""

    def __init__(
        self,
        pipeline: Pipeline,
        state: RunState,
        workflow: Workflow,
        *,
        resolve: Callable[[Json], Json],
        mask: Callable[[Json], Json] = lambda value: value,
        accepts: Accepts = lambda moment, name, value: None,
    ) -> None:
        self._pipeline = pipeline
        self._state = state
        self._workflow = workflow
        self._resolve = resolve
        self._mask = mask
        self._accepts = accepts
        self._gates: dict[str, WaitState] = {}
        self._asked: set[_Key] = set()
        self._open: dict[_Key, _Opened] = {}
        self._said_before: dict[_Key, tuple[int, HookDecided]] = {}
        """What was said of a call or a check then: it stands before the event that permits or tells it."""
        self._subjects: dict[tuple[str | None, str | None], Subject] = {}
        self.totals = Totals()

    async def findings(self, events: Iterable[Event]) -> list[Finding]:
        """Everything that is not the same, in the order of the log; each event is folded into the state."""
        found: list[Finding] = []
        for event in events:
            apply(self._state, event)
            self.totals.events += 1
            if isinstance(event.payload, HookDecided):
                found += self._compare(event.seq, event.payload)
                continue
            for moment in moments_after(self._state, self._workflow, event, self._resolve, self._gates):
                found += await self._ask(event, moment)
            if self._gates.keys() != self._state.waits.keys():
                self._gates = dict(self._state.waits)
        found += self._never_reached()
        found.sort(key=lambda finding: finding.seq)
        for finding in found:
            self.totals.count(finding)
        differences = [finding for finding in found if finding.said != "same"]
        _mark_assumed(differences, Otherwise(self._state.graph))
        return differences

    async def _ask(self, event: Event, moment: Moment) -> Sequence[Finding]:
        attempt, place = moment.attempt, self._place(event, moment)
        subject = self._subject(place, moment)
        key = (None if attempt is None else attempt.attempt_id, moment.point.value, moment.ordinal)
        if attempt is not None and key in self._asked:
            return ()  # a call is shown when it is bound, and again when it is permitted
        self._asked.add(key)
        found = (
            []
            if not self._pipeline.listens(moment.point, subject)
            else await self._answered(event, moment, subject, place, key)
        )
        if key in self._said_before:
            found += self._compare(*self._said_before.pop(key))
        return found

    async def _answered(
        self, event: Event, moment: Moment, subject: Subject, place: NodeReference | None, key: _Key
    ) -> list[Finding]:
        attempt = moment.attempt
        self.totals.asked += 1
        dispatch = Dispatch(
            hook=moment.point,
            ordinal=moment.ordinal,
            subject=subject,
            payload=moment.make,
            activity_id=None if attempt is None else attempt.activity_id,
            attempt_id=None if attempt is None else attempt.attempt_id,
            node_id=subject.node_id,
            accepts=lambda name, value: self._accepts(moment, name, value),
            mask=self._mask,
        )
        verdict = await self._pipeline.dispatch(dispatch)
        if verdict.decided is None:
            return []
        finding = _finding(event, moment, place, verdict)
        follows = [*self._only_there(event, moment, finding)]
        self._open[key] = _Opened(finding, verdict, follows)
        if finding.said == "same":
            return []
        return [finding] if finding.said == "audit" else [finding, *follows]

    def _place(self, event: Event, moment: Moment) -> NodeReference | None:
        if moment.attempt is not None:
            return _reference(moment.attempt)
        match event.payload:
            case WaitCreated() as created:
                return self._at(created.work_activity_id, created.node_id, created.scope)
            case WaitResolved() | WaitDeadlineExceeded() as answer:
                created = self._gates[answer.wait_id].created
                return self._at(created.work_activity_id, created.node_id, created.scope)
            case _:
                return None

    def _at(self, activity_id: str | None, node_id: str | None, scope: str = "") -> NodeReference | None:
        """The place of that work, or else the node; None where there is neither."""
        activity = self._state.activities.get(ActivityId(activity_id or ""))
        if activity is not None:
            return _reference(activity)
        return NodeReference(node_id=node_id, scope=scope) if node_id else None

    def _subject(self, place: NodeReference | None, moment: Moment) -> Subject:
        node_id = None if place is None else place.node_id
        key = (node_id, moment.agent)
        if key not in self._subjects:
            subject = subject_of(self._workflow, self._state, node_id)
            if moment.agent is not None and moment.agent != subject.agent:
                subject = Subject(subject.workflow, subject.node_id, subject.component_type, agent=moment.agent)
            self._subjects[key] = subject
        return self._subjects[key]

    def _compare(self, seq: int, decided: HookDecided) -> Iterator[Finding]:
        """What was said then, at a point the hooks have been asked about: the same is no difference, and nothing is."""
        key = (decided.attempt_id, decided.hook, decided.ordinal)
        if is_of_background(decided):
            return
        if key not in self._asked:
            self._said_before[key] = (seq, decided)
            return
        opened = self._open.pop(key, None)
        if (opened is None or opened.verdict.outcome == "allow") and decided.verdict != "allow":
            yield self._would_allow(seq, decided)
        if opened is None:
            return
        verdict, is_noted = opened.verdict, opened.finding.said == "audit"
        if decided.verdict == verdict.outcome and _changes(decided, self._resolve) == dict(verdict.changes):
            if is_noted and _audits(decided) != opened.finding.audits:
                return
            for finding in (opened.finding, *opened.follows):
                finding.said = "same"

    def _never_reached(self) -> Iterator[Finding]:
        """The calls and checks that were stopped then: there is no event of them, and so no payload to ask about."""
        for seq, decided in self._said_before.values():
            point = HookType(decided.hook)
            if point not in _ASKED_BEFORE or decided.verdict not in ("block", "error", "ask"):
                continue
            finding = self._would_allow(seq, decided)
            if self._pipeline.listens(point, subject_of(self._workflow, self._state, decided.node_id)):
                finding.said = "unknown"
            yield finding

    def _would_allow(self, seq: int, decided: HookDecided) -> Finding:
        point, said_then = HookType(decided.hook), f"was: {decided.verdict}"
        place = self._at(decided.activity_id, decided.node_id)
        return Finding(seq, point, place, decided.activity_id, "would_allow", reason=said_then)

    def _only_there(self, event: Event, moment: Moment, finding: Finding) -> Iterator[Finding]:
        """What only the other way would reach: a step that is stopped fails, and its hooks would hear of it."""
        failed = HookType.COMPONENT_POST_ERROR
        if not finding.stops or moment.attempt is None or moment.point == failed:
            return
        if self._pipeline.listens(failed, subject_of(self._workflow, self._state, finding.node_id)):
            yield Finding(event.seq, failed, finding.place, finding.activity_id, "unknown", assumed=True)


def _reference(work: AttemptState | ActivityState) -> NodeReference:
    return NodeReference(node_id=work.node_id, scope=work.scope, item=work.item)


def _mark_assumed(differences: Iterable[Finding], otherwise: Otherwise) -> None:
    """Mark what comes after another difference; in the order of the log."""
    for finding in differences:
        if otherwise.has(finding.place, finding.activity_id):
            finding.assumed = True
        if finding.said != "audit":
            otherwise.add(finding.point, finding.place, finding.activity_id)


_SAID: Mapping[str, Said] = {
    "block": "would_block",
    "ask": "would_ask",
    "error": "hook_error",
    "changed": "would_change",
}


def _finding(event: Event, moment: Moment, place: NodeReference | None, verdict: Verdict) -> Finding:
    """What a verdict comes to. Where a "no" comes too late it is recorded, and stops nothing."""
    assert verdict.decided is not None
    said = _SAID.get(verdict.outcome, "same")
    speaking = [each for each in verdict.decided.decisions if each.outcome in ("block", "ask", "error", "changed")]
    if said in ("would_block", "would_ask", "hook_error"):
        speaking = [each for each in speaking if each.outcome == verdict.outcome] or speaking
    first = next(iter(speaking), None)
    changed: dict[str, tuple[Json, Json]] = {}
    for decision in verdict.decided.decisions:
        for name, change in decision.changed.items():
            before = changed[name][0] if name in changed else change.before
            changed[name] = (before, change.after)
    if said == "would_block" and not RULES[moment.point].can_block:
        said = "same"
    audits = _audits(verdict.decided)
    if said == "same" and audits:
        said = "audit"
    return Finding(
        seq=event.seq,
        point=moment.point,
        place=place,
        activity_id=None if moment.attempt is None else moment.attempt.activity_id,
        said=said,
        plugin=None if first is None else first.plugin,
        reason=None if first is None else first.reason,
        code=None if first is None else first.code,
        changed=changed,
        audits=audits,
    )


def _audits(decided: HookDecided) -> list[Audit]:
    return [
        Audit(each.plugin, each.outcome, each.reason)
        for each in decided.decisions
        if each.outcome in ("would_block", "would_ask")
    ]


def _changes(decided: HookDecided, resolve: Callable[[Json], Json]) -> dict[str, Any]:
    return {name: resolve(change.after) for decision in decided.decisions for name, change in decision.changed.items()}
