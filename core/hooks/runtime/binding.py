"""Binding: what the references in a prompt or an input see in this run.

Values come from the typed params and the outputs of finished nodes, blobs read when they are asked for. A value that
was cut when it was captured is never bound: the error names the file that holds it whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooks.expressions.references import UnresolvedReferenceError
from hooks.expressions.scope import RunScope
from hooks.ids import NodeId, attempt_directory
from hooks.kernel.state import ActivityState, RunState


def run_scope(state: RunState, resolve: Callable[[Any], Any]) -> RunScope:
    """The scope of a run as it stands; `resolve` turns a blob reference into its value and leaves others alone."""
    assert state.created is not None

    def output_of(node_id: str) -> Any:
        activity = state.by_node[NodeId(node_id)]
        if activity.ended_at is None:
            raise KeyError(node_id)
        return _whole(activity, resolve(activity.output))

    return RunScope(
        run_id=state.run_id,
        params=resolve(state.created.params),
        node_ids=state.graph.position,
        output_of=output_of,
        status_of=lambda node_id: state.nodes.get(NodeId(node_id)),
    )


def _whole(activity: ActivityState, output: Any) -> Any:
    """`output`, unless its stdout was cut: then nothing but its other fields can be had."""
    if not isinstance(output, dict) or output.get("truncated") is not True:
        return output
    kept = len(str(output.get("stdout", "")).encode())
    file = f"attempts/{attempt_directory(activity.activity_id, activity.attempts)}/stdout"
    reason = (
        f"the output was cut: {kept} of {output.get('stdout_bytes')} bytes are here; all: {file}. "
        "`max_output_bytes` of the node says how many are kept."
    )
    return _CutOutput(output, reason)


class _CutOutput(dict[str, Any]):
    """An output whose stdout was cut when it was captured."""

    def __init__(self, output: dict[str, Any], reason: str) -> None:
        super().__init__(output)
        self._reason = reason

    def __getitem__(self, key: str) -> Any:
        if key == "stdout":
            raise UnresolvedReferenceError("output.stdout", self._reason)
        return super().__getitem__(key)
