"""What tests of workflows, policies and implementations need. It needs no test framework, and works in any.

    from hooks.testing import FakeClock, ScriptedAgent, run_workflow

    def test_a_refused_answer_is_drawn_again() -> None:
        writer = ScriptedAgent(["too long", "ok"])
        run = run_workflow(WORKFLOW, agents={"writer": writer})
        assert run.output == {"draft": "ok"}
        assert writer.prompts == ["Write.", "Write."]

- `run_workflow` runs a workflow (YAML or a mapping) in a directory of its own; a `WorkflowRun` has what came of it.
- `ScriptedAgent` and `ScriptedExecutor` answer from a script and keep what they were asked; `ScriptedHooks` is an
  implementation of `WorkflowExecutionHooks` made of them.
- `FakeClock` is a clock on which no wait takes any time: backoffs, gate deadlines and settle times pass at once.
- `ask_policy` asks hooks about one payload, made up or taken from a run; `backtest` about everything in a run.
- `LogBuilder` makes a log, event by event, and has the state it folds to.
"""

from __future__ import annotations

from hooks.events import payloads as events
from hooks.testing.agents import ScriptedAgent, failing
from hooks.testing.fake_clock import FakeClock
from hooks.testing.log_builder import LogBuilder, run_created
from hooks.testing.policies import PolicyAnswer, ask_policy, backtest
from hooks.testing.recorded import Recorded
from hooks.testing.scripted_hooks import ExecutorCall, ScriptedExecutor, ScriptedHooks
from hooks.testing.workflow_runs import WorkflowRun, run_workflow

__all__ = [
    "ExecutorCall",
    "FakeClock",
    "LogBuilder",
    "PolicyAnswer",
    "Recorded",
    "ScriptedAgent",
    "ScriptedExecutor",
    "ScriptedHooks",
    "WorkflowRun",
    "ask_policy",
    "backtest",
    "events",
    "failing",
    "run_created",
    "run_workflow",
]
