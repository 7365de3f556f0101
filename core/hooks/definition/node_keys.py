"""Which keys each type of node takes, and where those belong that it does not take."""

from __future__ import annotations

from typing import Literal, TypeAlias

from hooks.definition.fields import Keys

NodeType: TypeAlias = Literal["subagent", "host_executor", "loop", "decision"]

NODE_TYPES: dict[NodeType, str | None] = {
    "subagent": "agent",
    "host_executor": "executor",
    "loop": "body",
    "decision": None,
}
"""The types, and the key that tells each where `type` is left out."""

_EVERY = frozenset({"type", "depends", "if", "metadata", "description", "tool_policy"})
_WORK = frozenset(
    {
        *("for_each", "human_gate", "unsafe_allow_ungated", "retry", "allow_failure", "hooks"),
        *("timeout", "timeout_ms", "grace", "grace_ms", "max_output_bytes", "output_schema", "env", "cwd", "secrets"),
    }
)
_AGENT_STEP = frozenset(
    {"agent", "prompt", "model_options", "requirements", "sampling", "continue_from", "tool_calls_enabled"}
)
_EXECUTOR_CALL = frozenset({"executor", "input", "read_only"})
_LOOP = frozenset({"body", "max_iterations", "terminate", "output"})

_ELSEWHERE = {
    "on_failure": "it belongs to the workflow, beside `nodes`",
    "require_gates": "it belongs to the workflow, beside `nodes`",
    "deadline": "it belongs into `human_gate`",
    "deadline_ms": "it belongs into `human_gate`",
    "on_timeout": "it belongs into `human_gate`",
    "approvers": "it belongs into `human_gate`",
    "repeatable": "it belongs to the agent, under `agents`",
    "isolate": "it belongs into the `input` of `python`",
    "strategy": "it belongs into `sampling`: `sampling: {strategy: repair_template, loop_budget: 3}`",
    "loop_budget": "it belongs into `sampling`: `sampling: {loop_budget: 3}`",
    "on_exhausted": "it belongs into `sampling`",
    "parallel": "it belongs into `sampling`",
    "format": "the form of an answer is `output_schema`",
    "max_concurrency": "it belongs under `defaults` of the workflow: `defaults: {max_concurrency: 8}`",
}
_SYNONYMS = {
    "bot": "agent",
    "model_overrides": "model_options",
    "working_dir": "cwd",
    "retry_policy": "retry",
    "host_executor": "executor",
}
_OF_OTHERS = {
    **dict.fromkeys(_WORK, "an agent step or an executor call"),
    **dict.fromkeys(_AGENT_STEP, "an agent step (`agent: …`)"),
    **dict.fromkeys(_EXECUTOR_CALL, "an executor call (`executor: shell`)"),
    **dict.fromkeys(_LOOP, "a loop (`body: […]`)"),
}
"""The keys that not every node takes, and whose they are."""


def _keys(what: str, own: frozenset[str]) -> Keys:
    """The keys of a node that is `what`; any other key of a node is told whose it is."""
    others = {key: f"it belongs to {whose}; this is {what}" for key, whose in _OF_OTHERS.items()}
    return Keys(what, _EVERY | own, synonyms=_SYNONYMS, elsewhere={**_ELSEWHERE, **others})


NODE_KEYS: dict[NodeType, Keys] = {
    "subagent": _keys("an agent step", _WORK | _AGENT_STEP),
    "host_executor": _keys("an executor call", _WORK | _EXECUTOR_CALL),
    "loop": _keys("a loop", _LOOP | {"allow_failure"}),
    "decision": _keys("a decision", frozenset({"human_gate"})),
}
EVERY_KEY = Keys("a node", _EVERY | _WORK | _AGENT_STEP | _EXECUTOR_CALL | _LOOP, synonyms=_SYNONYMS)
"""The keys of any node, for reading one whose type is not known yet."""
