"""However several hooks answer: a model of the rules, held against the deliberation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hooks.definition.model import HookEntry
from hooks.events.payloads import HookSetMember
from hooks.pipeline.deliberation import Deliberation
from hooks.pipeline.floor import Answer
from hooks.pipeline.listeners import listeners_of
from hooks.pipeline.verdicts import Block, HookFault, Modify
from tests.pipeline.builders import dispatch_of

KINDS = ["allow", "change", "same", "wrong", "block", "fault"]


@dataclass
class Model:
    """What the rules say, in the plainest words."""

    options: dict[str, Any] = field(default_factory=lambda: {"temperature": 1})
    outcomes: list[str] = field(default_factory=list)
    verdict: str = "allow"

    def hear(self, kind: str, number: int, on_error: str) -> None:
        if self.verdict in ("block", "error"):
            self.outcomes.append("not_run")
        elif kind == "change":
            self.options = {**self.options, "n": number}
            self.verdict = "changed"
            self.outcomes.append("changed")
        elif kind in ("allow", "same"):
            self.outcomes.append("allow")
        elif kind == "block":
            self.verdict = "block"
            self.outcomes.append("block")
        elif on_error == "fail":
            self.verdict = "error"
            self.outcomes.append("error")
        else:
            self.outcomes.append("ignored_error")


def answer_of(kind: str, number: int, seen: dict[str, Any]) -> Answer | HookFault:
    match kind:
        case "allow":
            return Answer()
        case "change":
            return Answer(Modify({"model_options": {**seen, "n": number}}))
        case "same":
            return Answer(Modify({"model_options": dict(seen)}))
        case "wrong":
            return Answer(Modify({"model_options": 3, "format": {}}))
        case "block":
            return Answer(Block("no"))
        case _:
            return HookFault("broken")


def listener(number: int, on_error: Literal["fail", "ignore"]) -> Any:
    entry = HookEntry(name=f"h{number}", on=["component_pre_execute"], argv=["true"], on_error=on_error)
    member = HookSetMember(
        name=entry.name,
        origin="workflow",
        entry=msgspec.to_builtins(entry),
        declared_in="/w/workflow.yaml",
        digest=str(number),
    )
    return listeners_of(member)[0]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(["fail", "ignore"])), max_size=8))
def test_any_sequence_of_answers_comes_to_what_the_rules_say(answers: list[tuple[str, Any]]) -> None:
    model = Model()
    deliberation = Deliberation(dispatch_of())
    for number, (kind, on_error) in enumerate(answers):
        model.hear(kind, number, on_error)
        if deliberation.is_over:
            deliberation.skip(listener(number, on_error))
        else:
            seen = deliberation.document["model_options"]
            deliberation.hear(listener(number, on_error), answer_of(kind, number, seen), 0.0)
    verdict = deliberation.verdict(record_all=True, supersedes=None)

    assert verdict.decided is not None
    assert [decision.outcome for decision in verdict.decided.decisions] == model.outcomes
    assert verdict.outcome == model.verdict
    assert deliberation.document["model_options"] == model.options
    assert deliberation.payload.model_dump()["model_options"] == model.options
    assert verdict.changes == ({} if "n" not in model.options else {"model_options": model.options})
    assert (verdict.violation is not None) is (model.verdict in ("block", "error"))
