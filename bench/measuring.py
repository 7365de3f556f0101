"""What the benches share: commands with what they cost, workflows of many trivial steps, tables."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hooks.definition.model import AgentDeclaration, Node, PythonAgent, SubagentNode, Workflow
from hooks.runtime.runs import OpenRun, start_run
from hooks.storage.durable_files import Durability

HOOKS = [sys.executable, "-m", "hooks_cli"]


@dataclass(frozen=True)
class Cost:
    """What one process took, without its children."""

    cpu_ms: float
    max_rss_mb: float
    code: int
    out: str


def cost_of(argv: Sequence[str], directory: Path) -> Cost:
    """Run a command to its end; raises if it fails."""
    process = subprocess.Popen(
        argv, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    out = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(argv)} ended with {process.returncode}")
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024, process.returncode, out)


def least_cpu_ms(argv: Sequence[str], directory: Path, *, times: int = 15) -> float:
    """The least CPU of several runs: what disturbs a measurement only adds to it."""
    return min(cost_of(argv, directory).cpu_ms for _ in range(times))


@contextmanager
def bench_directory() -> Iterator[Path]:
    """A directory on a real disk (BENCH_DIR, else here), since a sync in memory costs nothing."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("BENCH_DIR", Path.cwd())) as name:
        yield Path(name)


AGENT = PythonAgent(name="echo", callable="echo.py:answer")


def chain(steps: int) -> list[Node]:
    """Agent steps, each after the one before."""
    return [
        SubagentNode(id=f"n{number}", agent="echo", prompt="go", depends=[f"n{number - 1}"] if number else [])
        for number in range(steps)
    ]


def independent(steps: int) -> list[Node]:
    """Agent steps that wait for nobody."""
    return [SubagentNode(id=f"n{number}", agent="echo", prompt="go") for number in range(steps)]


def start(
    nodes: Sequence[Node],
    directory: Path,
    *,
    run_id: str = "run",
    durability: Durability = "strict",
    max_concurrency: int = 4,
    agent_code: str = "async def answer(prompt):\n    return 'done'\n",
    agents: Sequence[AgentDeclaration] = (AGENT,),
) -> OpenRun:
    """A run of trivial steps in this process, its driver lock held."""
    (directory / "echo.py").write_text(agent_code)
    return start_run(
        Workflow(workflow_id="bench", version=1, agents=list(agents), nodes=list(nodes)),
        {},
        runs_dir=directory / "runs",
        workflow_directory=directory,
        working_directory=directory,
        initiator="bench",
        run_id=run_id,
        durability=durability,
        max_concurrency=max_concurrency,
    )


def print_table(*rows: Sequence[str]) -> None:
    """A Markdown table; the first row is its head."""
    head, *body = rows
    for row in (head, ["---"] * len(head), *body):
        print("| " + " | ".join(row) + " |")
