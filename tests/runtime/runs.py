"""Builders for runs that are really driven: real files, real processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from hooks.definition.model import AgentDeclaration, CommandAgent, HostExecutorNode, Node, SubagentNode, Workflow
from hooks.events.envelope import Event
from hooks.events.payloads import Payload
from hooks.runtime.driving import RunReport, drive
from hooks.runtime.runs import OpenRun, open_existing, reopen_run, start_run
from hooks.storage.run_directory import RunDirectory, list_runs
from hooks.testing import Recorded

CAT = CommandAgent(name="cat", argv=["cat"])


def agent_step(node_id: str, prompt: str = "hello", *, agent: str = "cat", **fields: Any) -> SubagentNode:
    return SubagentNode(id=node_id, agent=agent, prompt=prompt, **fields)


def shell(node_id: str, *argv: str, **fields: Any) -> HostExecutorNode:
    return HostExecutorNode(id=node_id, executor="shell", input={"argv": list(argv)}, **fields)


def sh(node_id: str, script: str, **fields: Any) -> HostExecutorNode:
    return shell(node_id, "sh", "-c", script, **fields)


def append(node_id: str, path: Path, content: str, **fields: Any) -> HostExecutorNode:
    return HostExecutorNode(
        id=node_id, executor="file", input={"path": str(path), "mode": "append", "content": content}, **fields
    )


@dataclass
class Runs:
    """A place for runs: starts workflows in it and drives them in this process."""

    home: Path

    def start(
        self,
        *nodes: Node,
        agents: Sequence[AgentDeclaration] = (CAT,),
        run_id: str = "run",
        workflow: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
        **options: Any,
    ) -> OpenRun:
        definition = Workflow(workflow_id="w", version=1, agents=list(agents), nodes=list(nodes), **(workflow or {}))
        return start_run(
            definition,
            params or {},
            runs_dir=self.home / "runs",
            workflow_directory=self.home,
            working_directory=self.home,
            initiator="tester",
            run_id=run_id,
            **options,
        )

    def run(self, *nodes: Node, **options: Any) -> RunReport:
        with self.start(*nodes, **options) as run:
            return drive(run)

    def tick(self, *nodes: Node, **options: Any) -> RunReport:
        """One pass."""
        with self.start(*nodes, **options) as run:
            return drive(run, one_pass=True)

    def pass_once(self) -> RunReport:
        """One more pass."""
        with open_existing(self.directory) as run:
            return drive(run, one_pass=True)

    def drive_elsewhere(self) -> subprocess.Popen[bytes]:
        """Have another process drive the run; its code is the run's."""
        code = (
            "import sys; from pathlib import Path\n"
            "from hooks.runtime.driving import drive\n"
            "from hooks.runtime.runs import open_existing\n"
            "from hooks.storage.run_directory import RunDirectory\n"
            "with open_existing(RunDirectory(Path(sys.argv[1]))) as run:\n"
            "    report = drive(run)\n"
            "sys.exit(report.status.exit_code)\n"
        )
        return subprocess.Popen([sys.executable, "-c", code, str(self.directory.path)])

    def retry(self) -> RunReport:
        """What failed is tried again."""
        with reopen_run(self.directory, by="tester") as run:
            return drive(run)

    def recover(self, **options: Any) -> RunReport:
        with open_existing(self.directory, **options) as run:
            return drive(run)

    @property
    def directory(self) -> RunDirectory:
        (directory,) = list_runs(self.home / "runs")
        return directory

    @property
    def recorded(self) -> Recorded:
        return Recorded(self.directory)

    @property
    def events(self) -> list[Event]:
        return self.recorded.events

    @property
    def types(self) -> list[str]:
        return self.recorded.types

    def only(self, payload_type: type[Payload]) -> Any:
        """The one payload of that type in the log."""
        return self.recorded.only(payload_type)


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def statuses(report: RunReport, scope: str = "") -> dict[str, str]:
    """Status of each node that has begun."""
    return {node_id: node.status for node_id, node in report.state.scopes[scope].nodes.items()}
