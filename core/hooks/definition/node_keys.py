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

_EVERY = {
    "type": "What the node is; may be left out where another key tells it.",
    "depends": "A list of the nodes that have to be over before it.",
    "if": "CEL, `true` or `false`: whether it is done or skipped.",
    "metadata": "A mapping that hooks are shown.",
    "description": "A text for people.",
    "tool_policy": "A mapping that is kept in `metadata` under this name, for hooks; nothing else reads it.",
}
_ALLOW_FAILURE = {"allow_failure": "`true`: what depends on it goes on though it failed; false if left out."}
_HUMAN_GATE = {"human_gate": "A person decides: `true`, a prompt, or the keys below."}
_WORK = {
    **_ALLOW_FAILURE,
    **_HUMAN_GATE,
    "for_each": "A list: it is done once for each `${item}`.",
    "unsafe_allow_ungated": "`true`: its effect needs no gate under `require_gates`; false if left out.",
    "retry": "How often it is tried, and how long it waits between; that of `defaults` if left out.",
    "hooks": "A list of hooks that are asked about this node alone.",
    "timeout": "A duration: how long an attempt may take; that of `defaults` if left out.",
    "timeout_ms": "The same in milliseconds.",
    "grace": "A duration between TERM and KILL; that of the run if left out.",
    "grace_ms": "The same in milliseconds.",
    "max_output_bytes": "The most bytes its output may have; more fails it (`OutputTooLarge`).",
    "output_schema": "JSON Schema (2020-12) that its output has to meet.",
    "env": "Variables of its process, by name.",
    "cwd": "The directory it works in; that of the run if left out.",
    "secrets": "A list of the variables that it may use as `${secrets.NAME}`.",
}
_AGENT_STEP = {
    "agent": "The name of the agent that is asked.",
    "prompt": "What it is asked; a template.",
    "model_options": "A mapping for an agent that honours it.",
    "requirements": "A list of what its answer has to meet.",
    "sampling": "How many answers are drawn, and which counts.",
    "continue_from": "The agent step whose conversation this one goes on with.",
    "tool_calls_enabled": "Whether the agent may call tools; false if left out.",
}
_EXECUTOR_CALL = {
    "executor": "The name of the executor that does it.",
    "input": "What the executor is given; its keys are below.",
    "read_only": "`true`: it has no effect and may be done again; false if left out.",
}
_LOOP = {
    "body": "A list of the nodes that are done in each round.",
    "max_iterations": "The most rounds; required, and reaching it fails the loop.",
    "terminate": "`{node: ID, via: human_gate}`: the decision that ends it.",
    "output": "`{from: ID}`: the node of the body whose last output is its own.",
}

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


def _keys(what: str, own: dict[str, str]) -> Keys:
    """The keys of a node that is `what`; any other key of a node is told whose it is."""
    others = {key: f"it belongs to {whose}; this is {what}" for key, whose in _OF_OTHERS.items()}
    return Keys(what, _EVERY | own, synonyms=_SYNONYMS, elsewhere={**_ELSEWHERE, **others})


NODE_KEYS: dict[NodeType, Keys] = {
    "subagent": _keys("an agent step", _WORK | _AGENT_STEP),
    "host_executor": _keys("an executor call", _WORK | _EXECUTOR_CALL),
    "loop": _keys("a loop", _LOOP | _ALLOW_FAILURE),
    "decision": _keys("a decision", _HUMAN_GATE),
}
EVERY_KEY = Keys("a node", _EVERY | _WORK | _AGENT_STEP | _EXECUTOR_CALL | _LOOP, synonyms=_SYNONYMS)
"""The keys of any node, for reading one whose type is not known yet."""
