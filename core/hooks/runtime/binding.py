"""Binding: what the references in a step see in this run, and the step as it is bound.

Values come from the typed params, the outputs of finished nodes (blobs read when they are asked for), the item of a
fan-out and the round before. A value that was cut when it was captured is never bound: the error names the file that
holds it whole. Secrets are left out: only their places are known here.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import msgspec

from hooks.definition.executor_inputs import bind_env, bind_input
from hooks.definition.model import DecisionNode, Requirement, SubagentNode, WorkNode
from hooks.definition.requirement_values import requirement_to_json, sampling_to_json
from hooks.events.payloads import ComponentStarted
from hooks.expressions.references import UnresolvedReferenceError
from hooks.expressions.scope import Previous, RunScope
from hooks.expressions.templates import bind_text
from hooks.ids import NodeId, attempt_directory
from hooks.kernel.state import AttemptState, Composite, NodeState, RunState, output_of
from hooks.kernel.walk import round_key

Resolve: TypeAlias = Callable[[Any], Any]


def run_scope(
    state: RunState, resolve: Resolve, *, scope: str = "", item: Any = None, index: int | None = None
) -> RunScope:
    """What a node of `scope` sees; `resolve` turns a blob reference into its value and leaves others alone."""
    assert state.created is not None
    place = state.scopes[scope]

    def find(node_id: str) -> NodeState | None:
        return place.nodes.get(NodeId(node_id)) or state.root.nodes.get(NodeId(node_id))

    def load_output(node_id: str) -> Any:
        node = find(node_id)
        if node is None or node.ended_at is None:
            raise KeyError(node_id)
        return resolved_output(node, resolve)

    def status_of(node_id: str) -> str | None:
        node = find(node_id)
        return None if node is None or node.ended_at is None else node.status

    def previous_of(node_id: str) -> Previous | None:
        before = state.scopes.get(round_key(place.loop, place.iteration - 1)) if place.loop else None
        node = before.nodes.get(NodeId(node_id)) if before is not None else None
        if node is None:
            return None
        return Previous(resolved_output(node, resolve), node.status, node.comment)

    return RunScope(
        run_id=state.run_id,
        params=resolve(state.created.params),
        node_ids=state.graph.position if place is state.root else ChainMap(place.graph.position, state.graph.position),
        output_of=load_output,
        status_of=status_of,
        item=item,
        index=index,
        previous_of=previous_of,
    )


def scope_of_attempt(state: RunState, resolve: Resolve, attempt: AttemptState) -> RunScope:
    """What a step sees: a fan-out's also its item."""
    item = None
    if attempt.item is not None:
        node = state.scopes[attempt.scope].nodes[attempt.node_id]
        item = resolve(node.item_values)[attempt.item]
    return run_scope(state, resolve, scope=attempt.scope, item=item, index=attempt.item)


def bind_step(node: WorkNode, scope: RunScope, **who: Any) -> ComponentStarted:
    """The step with its references replaced. Raises UnresolvedReferenceError."""
    env = bind_env(node, scope)
    cwd = None if node.cwd is None else bind_text(node.cwd, scope)
    common: dict[str, Any] = {**who, "env": env.input, "env_secret_pointers": [*env.secret_pointers], "cwd": cwd}
    if isinstance(node, SubagentNode):
        return ComponentStarted(
            **common,
            component_type="AgentStep",
            bound=bind_text(node.prompt, scope),
            model_options=node.model_options,
            format=node.output_schema,
            requirements=[_bind_requirement(requirement, scope) for requirement in node.requirements],
            strategy=None if node.sampling is None else sampling_to_json(node.sampling),
            tool_calls_enabled=node.tool_calls_enabled,
        )
    bound = bind_input(node, scope)
    return ComponentStarted(
        **common,
        component_type="HostExecutorCall",
        bound=bound.input,
        secret_pointers=[*bound.secret_pointers],
    )


def _bind_requirement(requirement: Requirement, scope: RunScope) -> dict[str, Any]:
    if requirement.command is not None:
        words = [bind_text(word, scope) for word in requirement.command]
        requirement = msgspec.structs.replace(requirement, command=words)
    if requirement.judge is not None:
        judge = msgspec.structs.replace(requirement.judge, prompt=bind_text(requirement.judge.prompt, scope))
        requirement = msgspec.structs.replace(requirement, judge=judge)
    return requirement_to_json(requirement)


def bind_prompt(node: WorkNode | DecisionNode, scope: RunScope) -> str:
    """What a node's gate asks. Raises UnresolvedReferenceError."""
    return "" if node.human_gate is None else bind_text(node.human_gate.prompt, scope)


# ---- outputs -------------------------------------------------------------------------------------------------------


def resolved_output(node: NodeState, resolve: Resolve) -> Any:
    """The output of a node that is over, every part read; None if it did not succeed."""
    if node.status != "succeeded":
        return None
    output = output_of(node)
    if isinstance(output, Composite):
        return resolve_composite(output, resolve)
    resolved = resolve(output)
    return _whole(node, resolved)


def resolve_composite(output: Any, resolve: Resolve) -> Any:
    """A value of the log with every part read: a fan-out's list, a loop's map, or one value."""
    match output:
        case Composite(dict() as parts):
            return {name: resolve_composite(part, resolve) for name, part in parts.items()}
        case Composite(parts):
            return [resolve_composite(part, resolve) for part in parts]
        case _:
            return resolve(output)


def _whole(node: NodeState, output: Any) -> Any:
    """`output`, unless its executor names fields of it that it cut: then nothing but the others can be had."""
    if not isinstance(output, dict) or output.get("truncated") is not True or node.activity is None:
        return output
    cut = output.get("truncated_fields")
    if not isinstance(cut, list):
        return output  # of an executor that means something else by it
    where = ""
    if "stdout" in cut:
        kept = len(str(output.get("stdout", "")).encode())
        file = f"attempts/{attempt_directory(node.activity.activity_id, node.activity.attempts)}/stdout"
        where = f": {kept} of {output.get('stdout_bytes')} bytes are here; all: {file}"
    return _CutOutput(output, cut, f"the output was cut{where}. `max_output_bytes` of the node says how many are kept.")


class _CutOutput(dict[str, Any]):
    """An output of which some fields were cut when they were captured."""

    def __init__(self, output: dict[str, Any], cut: Collection[str], reason: str) -> None:
        super().__init__(output)
        self._cut = cut
        self._reason = reason

    def __getitem__(self, key: str) -> Any:
        if key in self._cut:
            raise UnresolvedReferenceError(f"output.{key}", self._reason)
        return super().__getitem__(key)
