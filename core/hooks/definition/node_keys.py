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
_AGENT_STEP = frozenset({"agent", "prompt", "model_options"})
_EXECUTOR_CALL = frozenset({"executor", "input", "read_only"})
_LOOP = frozenset({"body", "max_iterations", "terminate", "output"})
_LATER_AGENT_STEP = frozenset({"requirements", "sampling", "strategy", "format", "tool_calls_enabled"})

_ELSEWHERE = {
    "on_failure": "it belongs to the workflow, beside `nodes`",
    "require_gates": "it belongs to the workflow, beside `nodes`",
    "deadline": "it belongs into `human_gate`",
    "deadline_ms": "it belongs into `human_gate`",
    "on_timeout": "it belongs into `human_gate`",
    "approvers": "it belongs into `human_gate`",
    "repeatable": "it belongs to the agent, under `agents`",
    "isolate": "it belongs into the `input` of `python`",
}
_SYNONYMS = {
    "bot": "agent",
    "model_overrides": "model_options",
    "working_dir": "cwd",
    "retry_policy": "retry",
    "host_executor": "executor",
}
_OF_AN_AGENT_STEP = dict.fromkeys(_AGENT_STEP | _LATER_AGENT_STEP, "it belongs to an agent step (`agent: …`)")
_OF_AN_EXECUTOR_CALL = dict.fromkeys(_EXECUTOR_CALL, "it belongs to an executor call (`executor: shell`)")
_OF_A_LOOP = dict.fromkeys(_LOOP, "it belongs to a loop (`body: […]`)")
_OF_WORK = dict.fromkeys(_WORK, "it belongs to an agent step or an executor call")

NODE_KEYS: dict[NodeType, Keys] = {
    "subagent": Keys(
        "an agent step",
        _EVERY | _WORK | _AGENT_STEP,
        _LATER_AGENT_STEP,
        _SYNONYMS,
        {**_ELSEWHERE, **_OF_A_LOOP, **_OF_AN_EXECUTOR_CALL},
    ),
    "host_executor": Keys(
        "an executor call",
        _EVERY | _WORK | _EXECUTOR_CALL,
        frozenset(),
        _SYNONYMS,
        {**_ELSEWHERE, **_OF_A_LOOP, **_OF_AN_AGENT_STEP},
    ),
    "loop": Keys(
        "a loop",
        _EVERY | _LOOP | {"allow_failure"},
        frozenset(),
        _SYNONYMS,
        {**_ELSEWHERE, **_OF_WORK, **_OF_AN_AGENT_STEP, **_OF_AN_EXECUTOR_CALL},
    ),
    "decision": Keys(
        "a decision",
        _EVERY | {"human_gate"},
        frozenset(),
        _SYNONYMS,
        {**_ELSEWHERE, **_OF_WORK, **_OF_A_LOOP, **_OF_AN_AGENT_STEP, **_OF_AN_EXECUTOR_CALL},
    ),
}
EVERY_KEY = Keys("a node", _EVERY | _WORK | _AGENT_STEP | _EXECUTOR_CALL | _LOOP, _LATER_AGENT_STEP, _SYNONYMS)
"""The keys of any node, for reading one whose type is not known yet."""
