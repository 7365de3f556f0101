"""The facts about nodes that decide() asks for: what an `if` comes to, the list of a for_each, a fan-out's gate."""

from __future__ import annotations

from typing import Any

from hooks.definition.model import HostExecutorNode, Node, SubagentNode
from hooks.errors import JsonBorderError
from hooks.events.payloads import ConditionEvaluated, FanOutExpanded, Payload
from hooks.expressions.cel import CelError
from hooks.expressions.conditions import evaluate_condition
from hooks.expressions.references import UnresolvedReferenceError
from hooks.expressions.templates import bind
from hooks.ids import work_activity
from hooks.jsonio import check
from hooks.kernel.actions import Evaluate
from hooks.kernel.state import output_of
from hooks.runtime.binding import bind_prompt, resolve_composite, run_scope
from hooks.runtime.context import RunContext
from hooks.runtime.gates import open_gate
from hooks.runtime.step_errors import step_error

MOST_ITEMS = 10_000


def bring_about(run: RunContext, wanted: Evaluate) -> Payload:
    """The event that states the fact; what goes wrong is stated as well, and fails the node."""
    graph = run.state.scopes[wanted.scope].graph
    node = graph.nodes[graph.position[wanted.node_id]]
    match wanted.what:
        case "condition":
            return _condition(run, wanted, node)
        case "items":
            return _items(run, wanted, node)
        case "gate":
            return _fan_out_gate(run, wanted, node)


def _who(run: RunContext, wanted: Evaluate) -> dict[str, Any]:
    activity_id = work_activity(run.state.run_id, wanted.node_id, scope=wanted.scope)
    return {"node_id": wanted.node_id, "scope": wanted.scope, "activity_id": activity_id}


def _condition(run: RunContext, wanted: Evaluate, node: Node) -> ConditionEvaluated:
    scope = run_scope(run.state, run.recorder.resolve, scope=wanted.scope)
    try:
        value = evaluate_condition(node.condition if node.condition is not None else True, scope)
    except (CelError, UnresolvedReferenceError) as error:
        fault = step_error("ConditionError", "userFault", f"`if` of {node.id}: {error}")
        return ConditionEvaluated(**_who(run, wanted), value=False, error=fault)
    return ConditionEvaluated(**_who(run, wanted), value=value)


def _items(run: RunContext, wanted: Evaluate, node: Node) -> FanOutExpanded:
    assert isinstance(node, SubagentNode | HostExecutorNode)
    scope = run_scope(run.state, run.recorder.resolve, scope=wanted.scope)
    try:
        items = bind(node.for_each, scope)
        check(items)
        problem = _problem_of(items)
    except (UnresolvedReferenceError, JsonBorderError) as error:
        items, problem = [], str(error)
    if problem is not None:
        fault = step_error("FanOutError", "userFault", f"`for_each` of {node.id}: {problem}")
        return FanOutExpanded(**_who(run, wanted), items=[], count=0, error=fault)
    return FanOutExpanded(**_who(run, wanted), items=items, count=len(items))


def _problem_of(items: Any) -> str | None:
    if not isinstance(items, list):
        return f"a list is expected, this is a {type(items).__name__}"
    if len(items) > MOST_ITEMS:
        return f"the list has {len(items)} items; {MOST_ITEMS} are taken at the most"
    return None


def _fan_out_gate(run: RunContext, wanted: Evaluate, node: Node) -> Payload:
    """The one gate of a whole fan-out: it asks about the list, or afterwards about the outputs."""
    assert isinstance(node, SubagentNode | HostExecutorNode)
    state, resolve = run.state, run.recorder.resolve
    begun = state.scopes[wanted.scope].nodes[wanted.node_id]
    is_before = bool(begun.todo)
    subject = resolve(begun.item_values) if is_before else resolve_composite(output_of(begun), resolve)
    try:
        prompt = bind_prompt(node, run_scope(state, resolve, scope=wanted.scope))
    except UnresolvedReferenceError as error:
        prompt = f"(the prompt of this gate cannot be shown: {error})"
    return open_gate(
        run.state,
        run.now(),
        node,
        scope=wanted.scope,
        work_activity_id=None,
        number=begun.waits + 1,
        stage="before" if is_before else "after",
        prompt=prompt,
        subject=subject,
    )
