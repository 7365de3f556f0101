"""One frozen class per event type: the facts a run is made of.

The class name is the type name in lower camel case; fields are camelCase in the log. `kind` says who may say it:

- an *input* is a fact from outside decide(): an answer, an outcome, an evaluation, what was bound and permitted;
- a *decision* is one that decide() enabled in the state before it. Replay checks exactly these.

A field of type `Value` is any JSON value; a large one stands as a blob reference
{outputHash, outputPath, outputBytes, contentType} (storage/blobs.py says how the two are told apart).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

Value: TypeAlias = Any
Kind: TypeAlias = Literal["input", "decision"]
ErrorClass: TypeAlias = Literal[
    "retryable", "userFault", "policy", "hook_error", "timeout", "cancelled", "manual", "fatal"
]
EffectOutcome: TypeAlias = Literal["done", "failed", "not_done", "unknown"]
StopReason: TypeAlias = Literal["cancel", "timeout", "interrupt"]

EVENT_TYPES: dict[str, type[Payload]] = {}


class Payload(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of all event payloads; subclassing registers the type."""

    kind: ClassVar[Kind]
    type: ClassVar[str]
    values: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that hold a Value and may therefore stand as a blob reference."""

    def __init_subclass__(cls, **config: Any) -> None:
        super().__init_subclass__(**config)
        cls.type = cls.__name__[0].lower() + cls.__name__[1:]
        if not cls.__name__.endswith("Payload"):
            EVENT_TYPES[cls.type] = cls


class ErrorInfo(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What went wrong, as the log and the hooks see it."""

    error_code: str
    error_class: ErrorClass
    error_message: str
    details: dict[str, Value] = {}


class NodeReference(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A node in its scope; `item` for one item of a fan-out."""

    node_id: str
    scope: str = ""
    item: int | None = None


class Session(Struct, frozen=True, kw_only=True, rename="camel"):
    """The driver process that wrote what follows, and the directory it wrote in.

    Files that nobody synced (stdout, exit.json) are believed only in the boot and the directory they were written in.
    """

    pid: int
    start_time: int
    boot_id: str
    host: str
    inode: int


class HookChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """One field a hook changed: its whole value before and after (a blob reference where large)."""

    before: Value
    after: Value


class PluginState(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a plugin keeps for itself in a run, whole: a JSON object. `key` tells plugins apart, over all scopes."""

    key: str
    value: Value


class HookDecision(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one plugin said at one dispatch."""

    plugin: str
    origin: str
    digest: str
    mode: str
    outcome: Literal[
        "allow", "changed", "block", "ask", "would_block", "would_ask", "error", "ignored_error", "not_run", "lost"
    ]
    changed: dict[str, HookChange] = {}
    reason: str | None = None
    code: str | None = None
    details: dict[str, Value] = {}
    messages: list[str] = []
    """What the hook said for people to see, beside its answer."""
    state: PluginState | None = None
    """Only where the hook changed it."""
    duration_ms: float = 0.0


class HookSetMember(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One hook of the run's hook set, as runCreated pins it; `entry` is the declaration in canonical form."""

    name: str
    origin: Literal["user", "project", "workflow", "node", "flag", "program"]
    node_id: str | None = None
    entry: dict[str, Value]
    declared_in: str
    file: str | None = None
    digest: str


# ---- the run -------------------------------------------------------------------------------------------------------


class ForkedFrom(Struct, frozen=True, kw_only=True, rename="camel"):
    """The run that a rerun takes results over from, and the node it begins with."""

    run_id: str
    node_id: str


class RunCreated(Payload, frozen=True, kw_only=True):
    """The run is there, with everything it stands on; what is edited later does not reach it."""

    kind = "input"
    values = ("params", "metadata")

    workflow_id: str
    revision_id: str
    """The sha256 of workflow.json."""
    params: Value
    params_digest: str
    hook_set_digest: str
    hooks: list[HookSetMember] = []
    working_directory: str
    """Where `run` was started, and steps do their work."""
    workflow_directory: str
    """Where the files that the definition names are looked for."""
    workflow_file: str | None = None
    """Absolute; null for a workflow that did not come from a file."""
    max_concurrency: int
    grace_ms: int = 10_000
    """Between TERM and KILL."""
    initiator: str
    engine: dict[str, Value] = {}
    metadata: Value = {}
    """Of `--meta`."""
    durability: Literal["strict", "relaxed"] = "strict"
    record_hooks: Literal["changes", "all"] = "changes"
    forked_from: ForkedFrom | None = None
    token: str = ""
    """Random, and no other run's: by it the processes of this run are told from those of one with the same id."""
    session: Session


class RunStarted(Payload, frozen=True, kw_only=True):
    """The run begins. Hooks of run_started are asked next, before any node starts."""

    kind = "decision"


class RunSucceeded(Payload, frozen=True, kw_only=True):
    """All nodes are finished; the output is the map of these sinks to their outputs."""

    kind = "decision"
    sinks: list[str]


class RunFailed(Payload, frozen=True, kw_only=True):
    """A node failed, and nothing more is to be done. `node_id` is the first that did."""

    kind = "decision"
    node_id: str | None = None
    error: ErrorInfo


class RunBlocked(Payload, frozen=True, kw_only=True):
    """A hook or a person said no (error class policy or hook_error)."""

    kind = "decision"
    node_id: str | None = None
    error: ErrorInfo


class ResumeStarted(Payload, frozen=True, kw_only=True):
    """Another driver went on; written in the same group as the first thing it did."""

    kind = "input"
    session: Session
    taken_over: bool = False
    max_concurrency: int | None = None
    """What this driver was told instead of what the run began with."""


class HookSetChanged(Payload, frozen=True, kw_only=True):
    """The run's hooks are others than were pinned, and from here on these are asked. None is ever removed."""

    kind = "input"
    changed: list[HookSetMember]
    """Whose file differs, or which are declared elsewhere since their file is gone, as they are now. Of several with
    one name and origin either none stands here or all, in their order."""
    added: list[HookSetMember] = []
    """Those configured since, or given to this driver by flag."""


class LogRepaired(Payload, frozen=True, kw_only=True):
    """A torn tail was cut; its bytes are kept in `kept_in`."""

    kind = "input"
    cut_at: int
    cut_bytes: int
    kept_in: str


class RunCancelled(Payload, frozen=True, kw_only=True):
    """Everything that ran has ended, everything else will not start."""

    kind = "decision"
    reason: str | None = None


class RunReopened(Payload, frozen=True, kw_only=True):
    """A person has the failed, blocked or cancelled nodes tried again; what is named here is reset to pending."""

    kind = "input"
    nodes: list[NodeReference]
    by: str


class CancelRequested(Payload, frozen=True, kw_only=True):
    """The run, or one node of it, is to stop; from here on nothing it would start is started."""

    kind = "input"
    request_id: str
    by: str
    reason: str | None = None
    node: NodeReference | None = None
    grace_ms: int | None = None


class RequestRefused(Payload, frozen=True, kw_only=True):
    """What became of a request that changed nothing: the gate was answered, the deadline is over, there is no doubt."""

    kind = "input"
    request_id: str
    request: str
    code: Literal["TooLate", "AlreadyAnswered", "NoSuchGate", "NotAllowed", "DigestDiffers", "NothingInDoubt", "Over"]
    reason: str


# ---- nodes ---------------------------------------------------------------------------------------------------------


class NodePayload(Payload, frozen=True, kw_only=True):
    """What every event of a node names. `scope` is empty outside loops, else `<loop>.<round>`."""

    kind: ClassVar[Kind] = "decision"
    node_id: str
    scope: str = ""
    activity_id: str = ""
    """The node's activity: its work, or its gate or loop."""


class NodeSucceeded(NodePayload, frozen=True, kw_only=True):
    """All work of the node is done and stands."""


class NodeFailed(NodePayload, frozen=True, kw_only=True):
    """No further attempt of the node is made. `effect_done`: its effect happened all the same."""

    error: ErrorInfo
    effect_done: bool = False


class NodeSkipped(NodePayload, frozen=True, kw_only=True):
    """The node does not run: its condition is false, or something it depends on was skipped or failed."""

    reason: Literal["condition", "upstream"]


class NodeCancelled(NodePayload, frozen=True, kw_only=True):
    """The node was cancelled, under way or before it began."""


class NodeImported(NodePayload, frozen=True, kw_only=True):
    """What a node came to in the run this one was forked from; it is not done again.

    `turns` are the prompts and answers of its conversation, oldest first, for a step that goes on with it.
    `effect_done`: it has done an effect, there or in a run before that.
    """

    kind = "input"
    values = ("output", "turns")
    status: Literal["succeeded", "skipped"]
    output: Value = None
    turns: Value = []
    effect_done: bool = False


class ConditionEvaluated(NodePayload, frozen=True, kw_only=True):
    """What the node's `if` came to; with an error the node fails."""

    kind = "input"
    value: bool
    error: ErrorInfo | None = None


class FanOutExpanded(NodePayload, frozen=True, kw_only=True):
    """The list of a for_each, frozen for good; with an error the node fails."""

    kind = "input"
    values = ("items",)
    items: Value
    count: int
    error: ErrorInfo | None = None


# ---- loops ---------------------------------------------------------------------------------------------------------


class LoopStarted(NodePayload, frozen=True, kw_only=True):
    """A loop node begins; its first round is decided next."""


class LoopIterationStarted(NodePayload, frozen=True, kw_only=True):
    """A round begins; its nodes have the scope `<loop>.<iteration>`."""

    iteration: int


class LoopIterationFinished(NodePayload, frozen=True, kw_only=True):
    """A round is over: approved ends the loop, rejected is followed by the next."""

    iteration: int
    outcome: Literal["approved", "rejected", "failed", "cancelled"]


class LoopFinished(NodePayload, frozen=True, kw_only=True):
    """The loop is over, in this round; with an error it failed."""

    iteration: int
    error: ErrorInfo | None = None


# ---- waits ---------------------------------------------------------------------------------------------------------


class WaitCreated(Payload, frozen=True, kw_only=True):
    """A gate is open: somebody is to answer. `digest` says exactly what is asked about."""

    kind = "input"
    values = ("prompt", "subject")
    wait_id: str
    activity_id: str
    """Of the gate."""
    node_id: str = ""
    """Empty where a policy asked about the run itself."""
    scope: str = ""
    work_activity_id: str | None = None
    """The activity whose attempt stands at the gate; None for a gate of a whole node (fan-out) or run."""
    stage: Literal["before", "after", "decision", "ask"]
    hook: str | None = None
    """The hook point where a policy asked (stage `ask`)."""
    prompt: Value
    subject: Value
    digest: str
    approvers: list[str] = []
    deadline_at: int | None = None
    on_timeout: Literal["fail", "success"] = "fail"


class WaitResolved(Payload, frozen=True, kw_only=True):
    """A person has answered, in time."""

    kind = "input"
    wait_id: str
    approved: bool
    by: str
    comment: str = ""
    answered_at: int
    request_id: str


class WaitDeadlineExceeded(Payload, frozen=True, kw_only=True):
    """Nobody answered in time; `approved` if the gate says that silence is consent."""

    kind = "decision"
    wait_id: str
    approved: bool


class WaitClosed(Payload, frozen=True, kw_only=True):
    """Nobody needs to answer any more: the run failed or is being cancelled."""

    kind = "decision"
    wait_id: str
    reason: Literal["failed", "cancelled"]


# ---- attempts ------------------------------------------------------------------------------------------------------


class AttemptPayload(Payload, frozen=True, kw_only=True):
    """What every event of an attempt names."""

    kind: ClassVar[Kind] = "input"
    activity_id: str
    attempt_id: str
    node_id: str


class AttemptCreated(AttemptPayload, frozen=True, kw_only=True):
    """The node is to be worked on; whatever goes wrong from here on becomes an event of this attempt."""

    kind = "decision"
    attempt: int
    """From 1."""
    epoch: int = 0
    """How often the key of the effect has been given up for a new one."""
    scope: str = ""
    item: int | None = None
    """Index of the fan-out item."""


class ComponentStarted(AttemptPayload, frozen=True, kw_only=True):
    """The component's prompt or input is bound; nothing has been changed by a hook yet."""

    values = ("bound", "env", "requirements", "model_options", "format", "strategy")

    component_type: Literal["AgentStep", "HostExecutorCall"]
    bound: Value
    """The prompt (text) of an agent step, the input of an executor call; where a secret belongs, {"$secret": text}."""
    secret_pointers: list[str] = []
    """JSON pointers of those places in `bound`; nothing else is ever filled in."""
    env: Value = {}
    """What the step adds to the environment."""
    env_secret_pointers: list[str] = []
    cwd: str | None = None
    requirements: Value = []
    model_options: Value = {}
    format: Value = None
    strategy: Value = None
    tool_calls_enabled: bool = False
    continues: str | None = None
    """The activity whose conversation this step goes on with; what was said there is not repeated here."""


class ActivityRunning(AttemptPayload, frozen=True, kw_only=True):
    """The permit of a repeatable executor call (read_only): from here on it may be running."""


class SamplingLoopStarted(AttemptPayload, frozen=True, kw_only=True):
    """The loop of draws and checks begins, under the conditions that hooks have left so far."""

    values = ("requirements", "sampling")

    strategy_name: str
    """The class of the strategy."""
    sampling: Value = None
    """The object of `sampling`, None for one draw."""
    requirements: Value = []
    loop_budget: int


class GenerationStarted(AttemptPayload, frozen=True, kw_only=True):
    """The permit of one call of an agent, a draw or a question to a judge, with what is really sent."""

    values = ("prompt", "model_options", "format")

    generation_id: str
    draw: int
    """The draw it is, or is about."""
    call: int = 1
    """Calls are counted over the attempt; one that was interrupted and is made again keeps its number."""
    purpose: Literal["draw", "judge"] = "draw"
    requirement: str | None = None
    """What the judge is asked for."""
    agent: str
    prompt: Value
    after: int | None = None
    """The draw whose conversation, with its answer, comes before the prompt; None for the step's own beginning."""
    model_options: Value = {}
    format: Value = None
    tool_calls_enabled: bool = False


class GenerationFinished(AttemptPayload, frozen=True, kw_only=True):
    """A call ended: with an answer, or with an error; `interrupted` when its driver died or stopped."""

    values = ("text", "value")

    generation_id: str
    draw: int
    text: Value = None
    value: Value = None
    model: str | None = None
    usage: dict[str, Value] | None = None
    finish_reason: str | None = None
    latency_ms: int = 0
    error: ErrorInfo | None = None
    stack_trace: str = ""
    interrupted: bool = False


class GenerationRetryScheduled(AttemptPayload, frozen=True, kw_only=True):
    """A call failed in a way that may pass: it is made again, in the same loop, when this is due."""

    generation_id: str
    draw: int
    delay_ms: int
    due_at: int


class Validation(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One requirement's verdict on one draw."""

    requirement: str
    passed: bool
    reason: str | None = None
    score: float | None = None


class ValidationFinished(AttemptPayload, frozen=True, kw_only=True):
    """The raw verdicts on one draw, before any hook saw them; `requirements` are those it was held against."""

    values = ("requirements",)

    draw: int
    requirements: Value = []
    validations: list[Validation]


class EffectiveValidation(Validation, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The same as hooks have left it."""

    effective_passed: bool
    changed_by: str | None = None
    """The hook that turned it."""


class SamplingIteration(AttemptPayload, frozen=True, kw_only=True):
    """A draw was made and checked, and this is what counts of it."""

    draw: int
    passed: bool
    validations: list[EffectiveValidation]


class SamplingRepair(AttemptPayload, frozen=True, kw_only=True):
    """A draw failed and another one follows, which is asked this."""

    values = ("prompt",)

    draw: int
    """The one that failed."""
    repair_type: Literal["rejection", "template", "multi_turn"]
    prompt: Value
    after: int | None = None
    """As of generationStarted."""


class SamplingLoopEnded(AttemptPayload, frozen=True, kw_only=True):
    """The loop is over. `draw`: the one that was chosen, or the best of those that failed."""

    success: bool
    draw: int | None = None
    iterations: int
    failure_reason: str | None = None
    error: ErrorInfo | None = None
    """What ended it, where it did not come to its own end."""


class ComponentSucceeded(AttemptPayload, frozen=True, kw_only=True):
    """The component's output, checked; hooks may still withhold it."""

    values = ("output",)
    output: Value
    latency_ms: int = 0


class ComponentFailed(AttemptPayload, frozen=True, kw_only=True):
    """The component failed, or a hook or a check has made it fail."""

    error: ErrorInfo
    stack_trace: str = ""
    latency_ms: int = 0


class FileLeft(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file as an attempt has left it. Nobody has synced it: a power cut may have taken it, or its end."""

    sha256: str
    bytes: int


class ClosingPayload(AttemptPayload, frozen=True, kw_only=True):
    """What every event that ends an attempt has: the files it has left, by their place below its directory."""

    files: dict[str, FileLeft] = {}


class ActivitySucceeded(ClosingPayload, frozen=True, kw_only=True):
    """The attempt is over and its component's output stands."""


class ActivityFailed(ClosingPayload, frozen=True, kw_only=True):
    """The attempt is over. `effect_done`: the effect happened all the same and is never repeated.

    `interrupted`: ended by its driver's death or stop; does not use up the attempts of the node.
    """

    error: ErrorInfo
    effect_done: bool = False
    interrupted: bool = False


class ActivityTimedOut(ClosingPayload, frozen=True, kw_only=True):
    """The attempt ran longer than its timeout and was ended."""

    error: ErrorInfo
    effect_done: bool = False


class ActivityCancelled(ClosingPayload, frozen=True, kw_only=True):
    """The attempt was told to end and has, whatever it said on its way out. `outcome`: what is known of its effect."""

    values = ("output",)
    outcome: Literal["none", "done", "failed", "not_done", "in_doubt"] = "none"
    output: Value = None
    reason: Literal["cancel", "gate_closed"] = "cancel"


class RetryScheduled(AttemptPayload, frozen=True, kw_only=True):
    """The attempt failed in a way that may pass: another one is made when this is due."""

    kind = "decision"
    next_attempt: int
    delay_ms: int
    due_at: int


class CancelDelivered(AttemptPayload, frozen=True, kw_only=True):
    """Logged before the signal is sent: what the work says after this is not taken for its own free answer."""

    reason: StopReason
    signal: str
    """SIGTERM, and SIGKILL where the grace is over."""


class LeftoversEnded(AttemptPayload, frozen=True, kw_only=True):
    """The work ended and had left processes running in the background, which have been ended too."""

    processes: int


# ---- effects -------------------------------------------------------------------------------------------------------


class EffectAttempted(AttemptPayload, frozen=True, kw_only=True):
    """The permit of an effect; effect-input.json is durable and has this hash."""

    idempotency_key: str
    input_hash: str
    """The sha256 of effect-input.json."""
    idempotency_ttl_ms: int | None
    """For how long after the first attempt with this key it may be sent again."""
    provider: str
    epoch: int = 0
    may_retry: bool | None = None
    """Whether, once it has failed, another attempt may follow that its node does not ask for by a `retry` of its own.
    Null in logs from before this was recorded."""


class EffectSettled(AttemptPayload, frozen=True, kw_only=True):
    """The outcome of an effect, before anything judges it. After `unknown` it is still to be found out."""

    values = ("output",)
    idempotency_key: str
    outcome: EffectOutcome
    output: Value = None
    error: ErrorInfo | None = None
    latency_ms: int = 0


class ReconcileResult(AttemptPayload, frozen=True, kw_only=True):
    """What could be learned of a dangling effect; `in_doubt`: only a person can say."""

    values = ("output", "evidence")
    idempotency_key: str
    outcome: Literal["done", "failed", "not_done", "in_doubt"]
    reason: str
    """`found`, `absent`, why nobody can say, or what the person said."""
    output: Value = None
    evidence: Value = None
    """What the provider showed for it."""
    error: ErrorInfo | None = None
    by: str | None = None
    """The person who resolved it; None for a provider."""
    retry: bool = False
    """A person asked for it to be done again; `new_key`: under a new epoch."""
    new_key: bool = False
    request_id: str | None = None


class LateOutcome(AttemptPayload, frozen=True, kw_only=True):
    """An outcome that came after its attempt was over: told, and nothing else."""

    values = ("output",)
    outcome: EffectOutcome
    output: Value = None


# ---- hooks ---------------------------------------------------------------------------------------------------------


class HookDecided(Payload, frozen=True, kw_only=True):
    """One dispatch in which something other than allow happened; durable before the work it judges starts."""

    kind = "input"
    hook: str
    activity_id: str | None = None
    attempt_id: str | None = None
    node_id: str | None = None
    ordinal: int
    """Which dispatch of this point it is, in the attempt or the run, from 1."""
    payload_digest: str
    """Without the payload's times: the same after a crash, so that what was said is not asked again."""
    verdict: Literal["allow", "changed", "block", "ask", "error"]
    decisions: list[HookDecision]
    supersedes: int | None = None
    """The earlier decision of this dispatch that this one takes the place of: its seq."""
