"""What the parts of the runtime share about the run they move."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hooks.clock import Clock
from hooks.definition.model import Workflow
from hooks.ids import ActivityId
from hooks.kernel.state import RunState
from hooks.runtime.execution_hooks import WorkflowExecutionHooks
from hooks.runtime.hook_points import HookPoints
from hooks.runtime.recorder import Recorder
from hooks.runtime.supervision import Interruption
from hooks.runtime.work_engine import WorkEngine
from hooks.secrets import Masker
from hooks.storage.durable_files import Durability


@dataclass(frozen=True, slots=True)
class RunContext:
    """What every attempt of a run needs of its driver."""

    definition: Workflow
    recorder: Recorder
    implementation: WorkflowExecutionHooks
    hook_points: HookPoints
    interruption: Interruption
    clock: Clock
    """The time of the run: never before the last event, never standing still."""
    wall_clock: Clock
    """What the machine says, to judge the age of what was sent to others."""
    attempts_directory: Path
    working_directory: Path
    workflow_directory: Path
    grace_ms: int
    durability: Durability
    environ: Mapping[str, str]
    """Where secrets come from."""
    secret_names: frozenset[str]
    """Every secret that any step of the workflow lists."""
    masker: Masker | None
    """Masks those of them that are set, wherever they turn up."""
    engine: WorkEngine
    """Where the workflow's own agents and executors work; a sampling loop asks it whoever runs the loop."""
    trusted_since: int
    """Index of the first driver session whose unsynced files may be believed: same boot, same directory."""
    tell_cancelled: Callable[[Sequence[str], Sequence[str]], Awaitable[None]]
    """Tells the implementation which activities and nodes were cancelled; its errors stay with it."""
    tell: Callable[[str], None]
    """Says something to the person at the terminal that is no fact of the run: why it waits."""
    one_pass: bool = False
    """Nothing is waited for that is not running: no look-up is asked a second time."""
    cancels: dict[ActivityId, asyncio.Event] = field(default_factory=dict)
    """Set to end the work of an attempt that is being performed."""
    under_way: set[ActivityId] = field(default_factory=set)
    """Effects that are being performed just now, or waited for."""

    @property
    def state(self) -> RunState:
        return self.recorder.state

    def now(self) -> int:
        """The time events carry: the clock, but never before the last event (ms)."""
        return self.state.now(self.clock.now_ms())

    def cancel_event(self, activity_id: ActivityId) -> asyncio.Event:
        return self.cancels.setdefault(activity_id, asyncio.Event())
