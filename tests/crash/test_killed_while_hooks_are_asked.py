"""A driver killed while hooks are asked, between two of them, or between their decision and the work.

Whatever the moment: recovered, the run ends as if nothing had happened, the effect is done once, with the input that
the hooks have left, and no permit stands in the log before the decision it is permitted by.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import HOOKS, CommandLine

WORKFLOW = """\
workflow_id: noted
version: 1
hooks:
  - {name: rewrite, on: effect_pre_attempt, argv: [./rewrite.sh]}
  - {name: count, python: "count.py:Count", priority: 60}
  - {name: slow, on: effect_pre_attempt, argv: [./slow.sh], priority: 70}
nodes:
  note:
    executor: shell
    input:
      argv: [sh, -c, 'echo "$1" >> effects', sh, original]
      lookup: [grep, -q, rewritten, effects]
  after: {executor: shell, read_only: true, depends: [note], input: {argv: [cat, effects]}}
"""
REWRITE = """#!/bin/sh
exec jq -c 'if .node_id == "note" then {modify: {input: (.input | .argv[4] = "rewritten")}} else {} end'
"""
SLOW = "#!/bin/sh\nsleep 0.05\necho seen\n"
COUNT = """\
from hooks import HookType, Plugin, hook

class Count(Plugin):
    @hook(HookType.EFFECT_PRE_ATTEMPT)
    def before(self, payload, ctx):
        ctx.state["asked"] = [*ctx.state.get("asked", []), payload.node_id]
"""
KILLS = 50


def prepared(directory: Path) -> CommandLine:
    cli = CommandLine(directory)
    cli.write("noted.yaml", WORKFLOW)
    cli.write("count.py", COUNT)
    for name, text in (("rewrite.sh", REWRITE), ("slow.sh", SLOW)):
        (directory / cli.write(name, text)).chmod(0o755)
    return cli


def killed_after(cli: CommandLine, seconds: float) -> None:
    process = subprocess.Popen(
        [*HOOKS, "run", "noted.yaml", "--run-id", "noted"],
        cwd=cli.directory,
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def in_force(lines: list[Any], node: str) -> list[tuple[str, str]]:
    """What the hooks of effect_pre_attempt have last said of a node."""
    decided = [line["payload"] for line in lines if line["type"] == "hookDecided" and line["payload"]["nodeId"] == node]
    return [(decision["plugin"], decision["outcome"]) for decision in decided[-1]["decisions"]]


def check(cli: CommandLine) -> None:
    recovered = cli.hooks("run", "noted.yaml", "--run-id", "noted")

    assert recovered.code == 0, recovered.err
    assert recovered.document["after"]["stdout"] == "rewritten\n"
    assert (cli.directory / "effects").read_text() == "rewritten\n"
    lines = cli.log_lines("noted")
    assert in_force(lines, "note") == [("rewrite", "changed"), ("count", "allow"), ("slow", "allow")]
    first = {kind: next(n for n, line in enumerate(lines) if line["type"] == kind) for kind in KINDS}
    assert first["hookDecided"] < first["effectAttempted"]


KINDS = ("hookDecided", "effectAttempted")


def test_a_run_that_is_not_killed_ends_so(tmp_path: Path) -> None:
    cli = prepared(tmp_path)
    check(cli)
    states = [
        decision["state"]["value"]
        for line in cli.log_lines("noted")
        if line["type"] == "hookDecided"
        for decision in line["payload"]["decisions"]
        if decision.get("state")
    ]
    assert json.dumps(states) == '[{"asked": ["note"]}, {"asked": ["note", "after"]}]'


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_any_moment_it_goes_on(tmp_path: Path, seed: int) -> None:
    cli = prepared(tmp_path)
    killed_after(cli, random.Random(seed).uniform(0.15, 0.9))
    check(cli)
