"""Gates: what a person is asked about, and the digest that ties an answer to exactly that."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal, TypeAlias

from hooks.definition.model import DecisionNode, WorkNode
from hooks.events.payloads import WaitCreated
from hooks.ids import ActivityId, NodeId, gate_activity, wait_id
from hooks.jsonio import canonical
from hooks.kernel.state import AttemptState, RunState
from hooks.pipeline.dispatch import Verdict

Stage: TypeAlias = Literal["before", "after", "decision", "ask"]


def gate_digest(stage: Stage, prompt: str, subject: Any) -> str:
    """sha256 over what is asked: the prompt, and the input or output it is about."""
    return sha256(canonical({"prompt": prompt, "stage": stage, "subject": subject})).hexdigest()


def open_gate(
    state: RunState,
    now: int,
    node: WorkNode | DecisionNode,
    *,
    scope: str,
    work_activity_id: str | None,
    number: int,
    stage: Stage,
    prompt: str,
    subject: Any,
) -> WaitCreated:
    """The event that opens the gate of `node` for the `number`-th time."""
    gate = node.human_gate
    assert gate is not None, "only a node with a gate opens one"
    activity_id = gate_activity(state.run_id, NodeId(node.id), scope=scope)
    return WaitCreated(
        wait_id=wait_id(activity_id, number),
        activity_id=activity_id,
        node_id=node.id,
        scope=scope,
        work_activity_id=work_activity_id,
        stage=stage,
        prompt=prompt,
        subject=subject,
        digest=gate_digest(stage, prompt, subject),
        approvers=gate.approvers,
        deadline_at=None if gate.deadline_ms is None else now + gate.deadline_ms,
        on_timeout=gate.on_timeout,
    )


def open_ask(
    hook: str, verdict: Verdict, *, now: int, activity_id: ActivityId, number: int, attempt: AttemptState | None
) -> WaitCreated:
    """The event that opens the one gate for everything that policies asked in a dispatch (`<activity>::ask::<n>`).

    Whoever any of them names may answer; the shortest deadline holds, and silence is consent only if all say so.
    """
    asks = verdict.asks
    prompt = "\n".join(f"{ask.plugin}: {ask.reason}" for ask in asks)
    subject = {"hook": hook, "payload_digest": verdict.payload_digest}
    deadlines = [ask.deadline_ms for ask in asks if ask.deadline_ms is not None]
    gate = ActivityId(f"{activity_id}::ask")
    return WaitCreated(
        wait_id=wait_id(gate, number),
        activity_id=gate,
        node_id="" if attempt is None else attempt.node_id,
        scope="" if attempt is None else attempt.scope,
        work_activity_id=None if attempt is None else attempt.activity_id,
        stage="ask",
        hook=hook,
        prompt=prompt,
        subject=subject,
        digest=gate_digest("ask", prompt, subject),
        approvers=list(dict.fromkeys(name for ask in asks for name in ask.approvers)),
        deadline_at=now + min(deadlines) if deadlines else None,
        on_timeout="success" if all(ask.on_timeout == "success" for ask in asks) else "fail",
    )
