"""A checked workflow: what workflow.json holds and everything else trusts.

Only `definition/load.py` makes one from a person's file; a run reads its own back from workflow.json with
`workflow_from_json`. Templates stay text here ("${a.output}"); that they parse and refer upstream was checked. A
script of `shell` is no template: its `${` stand escaped (`$${`), so that binding gives it back as it was written.
Durations are milliseconds. Order of `nodes` is the order of the file and the order of dispatch.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from hooks.definition.hook_points import Mode
from hooks.ids import RevisionId
from hooks.jsonio import canonical

Json: TypeAlias = Any
ParamType: TypeAlias = Literal["string", "number", "integer", "boolean", "object", "array"]

FORMAT_OPTION = "format"
"""How an agent is told the output schema; no option that a step may set."""
TOOLS_OPTION = "tool_calls_enabled"
"""How an agent is told that it may use tools of its own; a step has a field for it, and sets no option."""
_OF_THE_STEP = frozenset({FORMAT_OPTION, TOOLS_OPTION})

OPENAI_INSTALL = "pip install 'workflow-hooks[openai]'"
OPENAI_OPTIONS = frozenset(
    {
        *("model", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop"),
        *("presence_penalty", "frequency_penalty", "logit_bias", "reasoning_effort", "verbosity", "service_tier"),
    }
)
"""The model options that every endpoint of this kind is taken to know."""


class Param(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A declared parameter; `default` is msgspec.UNSET where the file gives none (a default of null is one)."""

    name: str
    type: ParamType = "string"
    required: bool = False
    default: Json | msgspec.UnsetType = msgspec.UNSET
    format: Literal["date", "date-time", "email"] | None = None
    min: float | int | None = None
    max: float | int | None = None
    enum: list[Json] | None = None
    description: str | None = None


class CommandAgent(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="command", tag_field="kind"
):
    """An agent that is a process: the prompt on stdin, or in argv where `${prompt}` stands; the answer on stdout.

    Paths (`extract`, …) lead into the JSON document on stdout, or into a line of it (`jsonl`); where several are given
    the first that leads anywhere counts. `options` maps a model option to the argv it becomes, "{value}" standing for
    its value. A preset stands here as what it stands for.
    """

    name: str
    argv: list[str]
    output: Literal["text", "json", "jsonl"] = "text"
    extract: str | None = None
    error_extract: str | list[str] | None = None
    """Where an error message is whose presence means failure."""
    usage_extract: str | list[str] | None = None
    """Where the usage is: objects are merged, a plain value goes under its key. Without one: `usage`."""
    model_extract: str | None = None
    """Where the name of the model is, or an object whose keys are such names. Without one: `model`."""
    error_classes: dict[Literal["retryable", "userFault", "fatal"], list[str]] = {}
    """Regular expressions by the class of the error whose message they are found in; the first in this order."""
    model: str | None = None
    options: dict[str, list[str]] = {}
    model_options: dict[str, Json] = {}
    """Set where a step sets nothing else."""
    env: dict[str, str] = {}
    timeout_ms: int | None = None
    repeatable: bool = True
    """False: each draw has consequences and is an effect, never made again without knowing how the last one ended."""

    @property
    def honoured_options(self) -> frozenset[str]:
        """The model options it knows what to do with."""
        return frozenset(self.options) - _OF_THE_STEP

    @property
    def knows_tools(self) -> bool:
        """Whether a step may have it use tools of its own."""
        return TOOLS_OPTION in self.options


class OpenAIAgent(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="openai", tag_field="kind"
):
    """A model behind an OpenAI-compatible endpoint; what it takes beside the prompt stands in `model_options`.

    The key is the value of the variable `api_key_env`; without one, none is sent.
    """

    name: str
    model: str
    base_url: str
    api_key_env: str | None = None
    organization: str | None = None
    project: str | None = None
    stream: bool = False
    options: list[str] = []
    """Model options that this endpoint knows beyond those that all know; they are sent as they are."""
    model_options: dict[str, Json] = {}
    """Sent where a step sets nothing else."""
    timeout_ms: int | None = None
    repeatable: bool = True

    @property
    def honoured_options(self) -> frozenset[str]:
        """The model options it knows what to do with."""
        return OPENAI_OPTIONS | frozenset(self.options)

    @property
    def knows_tools(self) -> bool:
        """Whether a step may have it use tools of its own: it has none."""
        return False


class PythonAgent(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="python", tag_field="kind"
):
    """An agent that is a callable, `module:function` or `file.py:function`.

    It is called with (prompt, options, messages), or as many of these as it takes, and answers with text or JSON.
    """

    name: str
    callable: str
    model_options: list[str] = []
    """The model options it honours."""
    timeout_ms: int | None = None
    repeatable: bool = True

    @property
    def honoured_options(self) -> frozenset[str]:
        """The model options it knows what to do with."""
        return frozenset(self.model_options) - _OF_THE_STEP

    @property
    def knows_tools(self) -> bool:
        """Whether a step may have it use tools of its own."""
        return TOOLS_OPTION in self.model_options


class EntryPointAgent(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag="entry_point",
    tag_field="kind",
):
    """An agent of a kind that another distribution registers under `hooks.agents`.

    `entry_point` is the kind as the file has it; `settings` are the keys beside it, which only that kind understands.
    """

    name: str
    entry_point: str
    settings: dict[str, Json] = {}
    model_options: list[str] = []
    timeout_ms: int | None = None
    repeatable: bool = True

    @property
    def honoured_options(self) -> frozenset[str]:
        """The model options it knows what to do with."""
        return frozenset(self.model_options) - _OF_THE_STEP

    @property
    def knows_tools(self) -> bool:
        """Whether a step may have it use tools of its own."""
        return TOOLS_OPTION in self.model_options


AgentDeclaration: TypeAlias = CommandAgent | OpenAIAgent | PythonAgent | EntryPointAgent


class Judge(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An agent that says whether an answer is good enough: {passed, score, reason}, any of the first two."""

    agent: str
    prompt: str
    """A template, bound with the step."""
    threshold: float = 0.5
    """The least score that passes, where the judge gives a score and does not say `passed`."""


class Requirement(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A check on an answer: exactly one of check, schema, regex, command, python, judge, kind.

    `check` is bare CEL over `output`, `command` an argv that gets the answer on stdin (0 passes, 1 fails), `python` a
    callable by place, `kind` a name registered under `hooks.requirements`, which alone understands `settings`.
    """

    name: str
    origin: str = "node"
    """`node` for one of the file, `output_schema` for the implicit one, `hook` for what a hook brings in."""
    reason: str | None = None
    """What is told, to the agent too, when it fails; without one, what the check itself says."""
    weight: float = 1.0
    check: str | None = None
    schema: Json | None = None
    regex: str | None = None
    command: list[str] | None = None
    python: str | None = None
    judge: Judge | None = None
    kind: str | None = None
    settings: dict[str, Json] = {}


class Sampling(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How answers are drawn: `strategy` is one that comes with hooks, or one registered under `hooks.strategies`."""

    strategy: str = "rejection"
    loop_budget: int = 1
    """Draws at the most (1 to 64)."""
    on_exhausted: Literal["fail", "use_best"] = "fail"
    parallel: int = 1
    """Draws at once, where one does not depend on the one before."""
    key: str | None = None
    """What answers are voted by: bare CEL over `output` (majority)."""


class ExecutorDeclaration(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An executor that a config names: a command or a callable behind the name a workflow uses.

    `argv`: a command that gets the input as one JSON document on stdin and answers with JSON on stdout. `callable`:
    called with the input's keys as keyword arguments. Exactly one of the two.
    """

    name: str
    argv: list[str] | None = None
    callable: str | None = None
    lookup: list[str] | None = None
    idempotent: bool = False
    idempotency_ttl_ms: int = 86_400_000
    env: dict[str, str] = {}
    declared_in: str = ""


class HookMatch(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Globs; the keys are ANDed, the globs of one key ORed, an empty list matches all."""

    node: list[str] = []
    component_type: list[str] = []
    executor: list[str] = []
    agent: list[str] = []
    workflow: list[str] = []


class HookEntry(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One entry of a `hooks:` list; exactly one of argv and python.

    `on` as it is written, aliases too; empty where a Python hook declares its points itself. `mode` and `priority` left
    out are those that a Python hook declares, else those of the hook point.
    """

    name: str
    on: list[str]
    argv: list[str] | None = None
    python: str | None = None
    mode: Mode | None = None
    priority: int | None = None
    final: bool = False
    """It may only block or ask, and is asked last, about the payload that will be used."""
    condition: str | None = None
    """`if`: bare CEL over `payload`; where it is false the hook is not asked."""
    approvers: list[str] = []
    """Who may answer when it asks; empty for anybody."""
    deadline_ms: int | None = None
    on_timeout: Literal["fail", "success"] = "fail"
    timeout_ms: int | None = None
    on_error: Literal["fail", "ignore"] | None = None
    match: HookMatch = HookMatch()
    env: dict[str, str] = {}
    declared_in: str = ""
    """The absolute path of the declaring file; relative paths of the hook resolve from its directory."""
    origin: Literal["user", "project", "workflow", "node", "flag", "program"] = "workflow"
    node_id: str | None = None
    """The node that declares it (origin `node`)."""


class Retry(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How often an activity is tried, and how long it waits between."""

    max_attempts: int = 1
    backoff: Literal["fixed", "exponential"] = "exponential"
    base_ms: int = 1_000
    factor: float = 2.0
    max_delay_ms: int = 3_600_000
    jitter: float = 0.0
    on: tuple[str, ...] = ("retryable", "timeout")


class Gate(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A person decides. `prompt` is a template; `approvers` empty means anybody; no deadline means for ever."""

    prompt: str = ""
    stage: Literal["before", "after"] = "before"
    approvers: list[str] = []
    deadline_ms: int | None = None
    on_timeout: Literal["fail", "success"] = "fail"


class SubagentNode(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="subagent", tag_field="type"
):
    """An agent step: a prompt goes to an agent."""

    id: str
    agent: str
    prompt: str
    depends: list[str] = []
    model_options: dict[str, Json] = {}
    requirements: list[Requirement] = []
    sampling: Sampling | None = None
    """None: one draw."""
    continue_from: str | None = None
    """The agent step upstream whose conversation this one goes on with."""
    tool_calls_enabled: bool = False
    condition: str | bool | None = None
    """`if`: bare CEL, or a constant."""
    for_each: Json = None
    """A list, or a template that stands for one; each item is an activity of its own. None: no fan-out."""
    human_gate: Gate | None = None
    retry: Retry | None = None
    allow_failure: bool = False
    timeout_ms: int | None = None
    grace_ms: int | None = None
    output_schema: Json | None = None
    max_output_bytes: int | None = None
    env: dict[str, str] = {}
    cwd: str | None = None
    secrets: list[str] = []
    """Names of environment variables that `${secrets.NAME}` may stand for in env and executor input."""
    unsafe_allow_ungated: bool = False
    metadata: dict[str, Json] = {}
    description: str | None = None


class HostExecutorNode(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag="host_executor",
    tag_field="type",
):
    """An executor call: a command, a file, a callable. An effect unless `read_only`."""

    id: str
    executor: str
    input: dict[str, Json]
    read_only: bool = False
    depends: list[str] = []
    condition: str | bool | None = None
    """`if`: bare CEL, or a constant."""
    for_each: Json = None
    """A list, or a template that stands for one; each item is an activity of its own. None: no fan-out."""
    human_gate: Gate | None = None
    retry: Retry | None = None
    allow_failure: bool = False
    timeout_ms: int | None = None
    grace_ms: int | None = None
    output_schema: Json | None = None
    max_output_bytes: int | None = None
    env: dict[str, str] = {}
    cwd: str | None = None
    secrets: list[str] = []
    """Names of environment variables that `${secrets.NAME}` may stand for in env and executor input."""
    unsafe_allow_ungated: bool = False
    metadata: dict[str, Json] = {}
    description: str | None = None


class DecisionNode(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="decision", tag_field="type"
):
    """The end of a loop's round: a person approves (the loop ends) or rejects (the next round begins)."""

    id: str
    human_gate: Gate
    depends: list[str] = []
    condition: str | bool | None = None
    metadata: dict[str, Json] = {}
    description: str | None = None


BodyNode: TypeAlias = SubagentNode | HostExecutorNode | DecisionNode


class LoopNode(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="loop", tag_field="type"
):
    """Rounds of a body until its decision approves. The nodes of the body stand inside; what they need of the outside
    are the loop's dependencies, and others depend on the loop."""

    id: str
    body: list[BodyNode]
    decision: str
    """Id of the decision node that ends a round (`terminate.node`)."""
    max_iterations: int
    output_from: str | None = None
    """The body node whose last output is the loop's; without it, by id the outputs of what the decision depends on."""
    depends: list[str] = []
    condition: str | bool | None = None
    allow_failure: bool = False
    metadata: dict[str, Json] = {}
    description: str | None = None


WorkNode: TypeAlias = SubagentNode | HostExecutorNode
Node: TypeAlias = SubagentNode | HostExecutorNode | LoopNode | DecisionNode


class Workflow(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A whole definition, with the agents and defaults it uses from config merged in."""

    workflow_id: str
    version: int
    description: str | None = None
    params: list[Param] = []
    agents: list[AgentDeclaration] = []
    hooks: list[HookEntry] = []
    metadata: dict[str, Json] = {}
    max_concurrency: int = 4
    timeout_ms: int | None = None
    grace_ms: int | None = None
    retry: Retry = Retry()
    on_failure: Literal["stop", "continue"] = "stop"
    require_gates: bool = False
    executors: list[ExecutorDeclaration] = []
    nodes: list[Node] = []
    """The nodes outside loops; the body of a loop stands in its node. A decision only stands in a body."""


def every_node(workflow: Workflow) -> Iterator[Node]:
    """All nodes, those of a body after their loop."""
    for node in workflow.nodes:
        yield node
        if isinstance(node, LoopNode):
            yield from node.body


def workflow_to_json(workflow: Workflow) -> bytes:
    """Canonical JSON of a workflow: the bytes of workflow.json."""
    return canonical(msgspec.to_builtins(workflow))


def revision_id(workflow_json: bytes) -> RevisionId:
    return RevisionId(sha256(workflow_json).hexdigest())


_decode = msgspec.json.Decoder(Workflow).decode


def workflow_from_json(data: bytes) -> Workflow:
    """Read workflow.json back. Raises msgspec.DecodeError: the bytes are checked against the revision id before."""
    return _decode(data)
