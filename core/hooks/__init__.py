"""Durable agent workflows from the shell, with nothing but files.

The public names, each imported on first use, so that `import hooks` costs nothing:

    from hooks import load_workflow, read_run

Everything else in this package may change without notice.
"""

from importlib import import_module

# What `typing.TYPE_CHECKING` is to a type checker, without importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.agents.base import Agent as Agent
    from hooks.agents.base import AgentError as AgentError
    from hooks.agents.base import Generation as Generation
    from hooks.agents.base import GenerationRequest as GenerationRequest
    from hooks.agents.base import Message as Message
    from hooks.clock import Clock as Clock
    from hooks.definition.config import load_hooks_file as load_hooks_file
    from hooks.definition.hook_points import HookType as HookType
    from hooks.definition.hook_points import PluginMode as PluginMode
    from hooks.definition.load import load_workflow as load_workflow
    from hooks.definition.model import HookEntry as HookEntry
    from hooks.definition.model import HostExecutorNode as HostExecutorNode
    from hooks.definition.model import Requirement as Requirement
    from hooks.definition.model import Sampling as Sampling
    from hooks.definition.model import SubagentNode as SubagentNode
    from hooks.definition.model import Workflow as Workflow
    from hooks.definition.params import resolve_params as resolve_params
    from hooks.errors import CorruptRunError as CorruptRunError
    from hooks.errors import DefinitionError as DefinitionError
    from hooks.errors import HooksError as HooksError
    from hooks.errors import InDoubtError as InDoubtError
    from hooks.errors import MissingPerformerError as MissingPerformerError
    from hooks.errors import NotFoundError as NotFoundError
    from hooks.errors import QueuedError as QueuedError
    from hooks.errors import RefusedError as RefusedError
    from hooks.errors import RunLockedError as RunLockedError
    from hooks.errors import StorageError as StorageError
    from hooks.errors import UsageError as UsageError
    from hooks.events.envelope import Event as Event
    from hooks.events.payloads import EffectAttempted as EffectAttempted
    from hooks.events.payloads import ErrorInfo as ErrorInfo
    from hooks.executors.base import Absent as Absent
    from hooks.executors.base import CannotTell as CannotTell
    from hooks.executors.base import EffectCall as EffectCall
    from hooks.executors.base import Executor as Executor
    from hooks.executors.base import Found as Found
    from hooks.executors.base import InputError as InputError
    from hooks.executors.base import Later as Later
    from hooks.executors.base import LookUp as LookUp
    from hooks.executors.base import Prepared as Prepared
    from hooks.executors.base import Settled as Settled
    from hooks.kernel.apply import apply as apply
    from hooks.kernel.apply import fold as fold
    from hooks.kernel.decide import decide as decide
    from hooks.kernel.state import RunState as RunState
    from hooks.kernel.walk import initial_state as initial_state
    from hooks.pipeline.component_points import ComponentPostErrorPayload as ComponentPostErrorPayload
    from hooks.pipeline.component_points import ComponentPostSuccessPayload as ComponentPostSuccessPayload
    from hooks.pipeline.component_points import ComponentPreExecutePayload as ComponentPreExecutePayload
    from hooks.pipeline.component_points import EffectPostSettlePayload as EffectPostSettlePayload
    from hooks.pipeline.component_points import EffectPreAttemptPayload as EffectPreAttemptPayload
    from hooks.pipeline.component_points import EffectReconciledPayload as EffectReconciledPayload
    from hooks.pipeline.context import HookContext as HookContext
    from hooks.pipeline.declaring import hook as hook
    from hooks.pipeline.payload_base import HookPayload as HookPayload
    from hooks.pipeline.plugins import Plugin as Plugin
    from hooks.pipeline.plugins import PluginSet as PluginSet
    from hooks.pipeline.plugins import Registered as Registered
    from hooks.pipeline.run_points import ActivitiesCancelledPayload as ActivitiesCancelledPayload
    from hooks.pipeline.run_points import RunFinishedPayload as RunFinishedPayload
    from hooks.pipeline.run_points import RunResumedPayload as RunResumedPayload
    from hooks.pipeline.run_points import RunStartedPayload as RunStartedPayload
    from hooks.pipeline.run_points import WaitCreatedPayload as WaitCreatedPayload
    from hooks.pipeline.run_points import WaitResolvedPayload as WaitResolvedPayload
    from hooks.pipeline.sampling_points import GenerationErrorPayload as GenerationErrorPayload
    from hooks.pipeline.sampling_points import GenerationPostCallPayload as GenerationPostCallPayload
    from hooks.pipeline.sampling_points import GenerationPreCallPayload as GenerationPreCallPayload
    from hooks.pipeline.sampling_points import SamplingIterationPayload as SamplingIterationPayload
    from hooks.pipeline.sampling_points import SamplingLoopEndPayload as SamplingLoopEndPayload
    from hooks.pipeline.sampling_points import SamplingLoopStartPayload as SamplingLoopStartPayload
    from hooks.pipeline.sampling_points import SamplingRepairPayload as SamplingRepairPayload
    from hooks.pipeline.sampling_points import ValidationPostCheckPayload as ValidationPostCheckPayload
    from hooks.pipeline.sampling_points import ValidationPreCheckPayload as ValidationPreCheckPayload
    from hooks.pipeline.verdicts import Opinion as Opinion
    from hooks.pipeline.verdicts import PluginViolationError as PluginViolationError
    from hooks.pipeline.verdicts import ask as ask
    from hooks.pipeline.verdicts import block as block
    from hooks.pipeline.verdicts import modify as modify
    from hooks.runtime.asking import approve as approve
    from hooks.runtime.asking import cancel as cancel
    from hooks.runtime.asking import reject as reject
    from hooks.runtime.asking import resolve as resolve
    from hooks.runtime.driving import RunReport as RunReport
    from hooks.runtime.driving import drive as drive
    from hooks.runtime.driving import drive_async as drive_async
    from hooks.runtime.effect_log import EffectLog as EffectLog
    from hooks.runtime.embedding import recover as recover
    from hooks.runtime.embedding import retry as retry
    from hooks.runtime.embedding import run_loop as run_loop
    from hooks.runtime.embedding import run_tick as run_tick
    from hooks.runtime.execution_hooks import Cancelled as Cancelled
    from hooks.runtime.execution_hooks import DispatchContext as DispatchContext
    from hooks.runtime.execution_hooks import DispatchOutcome as DispatchOutcome
    from hooks.runtime.execution_hooks import EffectPolicy as EffectPolicy
    from hooks.runtime.execution_hooks import Failed as Failed
    from hooks.runtime.execution_hooks import RecoveryResult as RecoveryResult
    from hooks.runtime.execution_hooks import Succeeded as Succeeded
    from hooks.runtime.execution_hooks import WorkflowExecutionHooks as WorkflowExecutionHooks
    from hooks.runtime.prepared_call import PreparedCall as PreparedCall
    from hooks.runtime.reading import RunView as RunView
    from hooks.runtime.reading import read_events as read_events
    from hooks.runtime.reading import read_run as read_run
    from hooks.runtime.replaying import Backtested as Backtested
    from hooks.runtime.replaying import backtest_run as backtest_run
    from hooks.runtime.replaying import replay_run as replay_run
    from hooks.runtime.rerunning import start_rerun as start_rerun
    from hooks.runtime.runs import OpenRun as OpenRun
    from hooks.runtime.runs import open_existing as open_existing
    from hooks.runtime.runs import start_run as start_run
    from hooks.runtime.sampling_loop import sample as sample
    from hooks.runtime.watching import watch_run as watch_run
    from hooks.sampling.draws import Draw as Draw
    from hooks.sampling.draws import Prompt as Prompt
    from hooks.sampling.draws import Verdict as Verdict
    from hooks.sampling.strategies import RepairType as RepairType
    from hooks.sampling.strategies import SamplingStrategy as SamplingStrategy
    from hooks.sampling.verdicts import CannotEvaluateError as CannotEvaluateError
    from hooks.sampling.verdicts import RawVerdict as RawVerdict
    from hooks.sampling.verdicts import RequirementCheck as RequirementCheck
    from hooks.storage.run_directory import RunDirectory as RunDirectory
    from hooks.storage.run_directory import find_run as find_run
    from hooks.storage.run_directory import list_runs as list_runs
    from hooks.storage.verify import Finding as Finding
    from hooks.storage.verify import verify_run as verify_run

__version__ = "0.1.0"

_DEFINED_IN = {
    "Absent": "hooks.executors.base",
    "ActivitiesCancelledPayload": "hooks.pipeline.run_points",
    "Agent": "hooks.agents.base",
    "AgentError": "hooks.agents.base",
    "Backtested": "hooks.runtime.replaying",
    "Cancelled": "hooks.runtime.execution_hooks",
    "CannotEvaluateError": "hooks.sampling.verdicts",
    "CannotTell": "hooks.executors.base",
    "Clock": "hooks.clock",
    "ComponentPostErrorPayload": "hooks.pipeline.component_points",
    "ComponentPostSuccessPayload": "hooks.pipeline.component_points",
    "ComponentPreExecutePayload": "hooks.pipeline.component_points",
    "CorruptRunError": "hooks.errors",
    "DefinitionError": "hooks.errors",
    "DispatchContext": "hooks.runtime.execution_hooks",
    "DispatchOutcome": "hooks.runtime.execution_hooks",
    "Draw": "hooks.sampling.draws",
    "EffectAttempted": "hooks.events.payloads",
    "EffectCall": "hooks.executors.base",
    "EffectLog": "hooks.runtime.effect_log",
    "EffectPolicy": "hooks.runtime.execution_hooks",
    "EffectPostSettlePayload": "hooks.pipeline.component_points",
    "EffectPreAttemptPayload": "hooks.pipeline.component_points",
    "EffectReconciledPayload": "hooks.pipeline.component_points",
    "ErrorInfo": "hooks.events.payloads",
    "Event": "hooks.events.envelope",
    "Executor": "hooks.executors.base",
    "Failed": "hooks.runtime.execution_hooks",
    "Finding": "hooks.storage.verify",
    "Found": "hooks.executors.base",
    "Generation": "hooks.agents.base",
    "GenerationErrorPayload": "hooks.pipeline.sampling_points",
    "GenerationPostCallPayload": "hooks.pipeline.sampling_points",
    "GenerationPreCallPayload": "hooks.pipeline.sampling_points",
    "GenerationRequest": "hooks.agents.base",
    "HookContext": "hooks.pipeline.context",
    "HookEntry": "hooks.definition.model",
    "HookPayload": "hooks.pipeline.payload_base",
    "HookType": "hooks.definition.hook_points",
    "HooksError": "hooks.errors",
    "HostExecutorNode": "hooks.definition.model",
    "InDoubtError": "hooks.errors",
    "InputError": "hooks.executors.base",
    "Later": "hooks.executors.base",
    "LookUp": "hooks.executors.base",
    "Message": "hooks.agents.base",
    "MissingPerformerError": "hooks.errors",
    "NotFoundError": "hooks.errors",
    "OpenRun": "hooks.runtime.runs",
    "Opinion": "hooks.pipeline.verdicts",
    "Plugin": "hooks.pipeline.plugins",
    "PluginMode": "hooks.definition.hook_points",
    "PluginSet": "hooks.pipeline.plugins",
    "PluginViolationError": "hooks.pipeline.verdicts",
    "Prepared": "hooks.executors.base",
    "PreparedCall": "hooks.runtime.prepared_call",
    "Prompt": "hooks.sampling.draws",
    "QueuedError": "hooks.errors",
    "RawVerdict": "hooks.sampling.verdicts",
    "RecoveryResult": "hooks.runtime.execution_hooks",
    "RefusedError": "hooks.errors",
    "Registered": "hooks.pipeline.plugins",
    "RepairType": "hooks.sampling.strategies",
    "Requirement": "hooks.definition.model",
    "RequirementCheck": "hooks.sampling.verdicts",
    "RunDirectory": "hooks.storage.run_directory",
    "RunFinishedPayload": "hooks.pipeline.run_points",
    "RunLockedError": "hooks.errors",
    "RunReport": "hooks.runtime.driving",
    "RunResumedPayload": "hooks.pipeline.run_points",
    "RunStartedPayload": "hooks.pipeline.run_points",
    "RunState": "hooks.kernel.state",
    "RunView": "hooks.runtime.reading",
    "Sampling": "hooks.definition.model",
    "SamplingIterationPayload": "hooks.pipeline.sampling_points",
    "SamplingLoopEndPayload": "hooks.pipeline.sampling_points",
    "SamplingLoopStartPayload": "hooks.pipeline.sampling_points",
    "SamplingRepairPayload": "hooks.pipeline.sampling_points",
    "SamplingStrategy": "hooks.sampling.strategies",
    "Settled": "hooks.executors.base",
    "StorageError": "hooks.errors",
    "SubagentNode": "hooks.definition.model",
    "Succeeded": "hooks.runtime.execution_hooks",
    "UsageError": "hooks.errors",
    "ValidationPostCheckPayload": "hooks.pipeline.sampling_points",
    "ValidationPreCheckPayload": "hooks.pipeline.sampling_points",
    "Verdict": "hooks.sampling.draws",
    "WaitCreatedPayload": "hooks.pipeline.run_points",
    "WaitResolvedPayload": "hooks.pipeline.run_points",
    "Workflow": "hooks.definition.model",
    "WorkflowExecutionHooks": "hooks.runtime.execution_hooks",
    "apply": "hooks.kernel.apply",
    "approve": "hooks.runtime.asking",
    "ask": "hooks.pipeline.verdicts",
    "backtest_run": "hooks.runtime.replaying",
    "block": "hooks.pipeline.verdicts",
    "cancel": "hooks.runtime.asking",
    "decide": "hooks.kernel.decide",
    "drive": "hooks.runtime.driving",
    "drive_async": "hooks.runtime.driving",
    "find_run": "hooks.storage.run_directory",
    "fold": "hooks.kernel.apply",
    "hook": "hooks.pipeline.declaring",
    "initial_state": "hooks.kernel.walk",
    "list_runs": "hooks.storage.run_directory",
    "load_hooks_file": "hooks.definition.config",
    "load_workflow": "hooks.definition.load",
    "modify": "hooks.pipeline.verdicts",
    "open_existing": "hooks.runtime.runs",
    "read_events": "hooks.runtime.reading",
    "read_run": "hooks.runtime.reading",
    "recover": "hooks.runtime.embedding",
    "reject": "hooks.runtime.asking",
    "replay_run": "hooks.runtime.replaying",
    "resolve": "hooks.runtime.asking",
    "resolve_params": "hooks.definition.params",
    "retry": "hooks.runtime.embedding",
    "run_loop": "hooks.runtime.embedding",
    "run_tick": "hooks.runtime.embedding",
    "sample": "hooks.runtime.sampling_loop",
    "start_rerun": "hooks.runtime.rerunning",
    "start_run": "hooks.runtime.runs",
    "verify_run": "hooks.storage.verify",
    "watch_run": "hooks.runtime.watching",
}
"""Every public name and the module it comes from; the imports above say the same to type checkers."""


if not TYPE_CHECKING:  # a checker that saw it would take every name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _DEFINED_IN:
            raise AttributeError(f"module 'hooks' has no attribute {name!r}")
        value = getattr(import_module(_DEFINED_IN[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_DEFINED_IN})
