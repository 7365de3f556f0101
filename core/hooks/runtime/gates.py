"""Gates: what a person is asked about, and the digest that ties an answer to exactly that."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal, TypeAlias

from hooks.definition.model import DecisionNode, WorkNode
from hooks.events.payloads import WaitCreated
from hooks.ids import NodeId, gate_activity, wait_id
from hooks.jsonio import canonical
from hooks.runtime.context import RunContext

Stage: TypeAlias = Literal["before", "after", "decision"]


def gate_digest(stage: Stage, prompt: str, subject: Any) -> str:
    """sha256 over what is asked: the prompt, and the input or output it is about."""
    return sha256(canonical({"prompt": prompt, "stage": stage, "subject": subject})).hexdigest()


def open_gate(
    run: RunContext,
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
    activity_id = gate_activity(run.state.run_id, NodeId(node.id), scope=scope)
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
        deadline_at=None if gate.deadline_ms is None else run.now() + gate.deadline_ms,
        on_timeout=gate.on_timeout,
    )
