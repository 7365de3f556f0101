"""Whatever call on the disk a command is struck at, and however, the run is recovered or says what is in doubt. B06"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.crash_matrix import Scenario, sweep
from tests.crash.faults import MODES, Fault

FILE_EFFECT = Scenario(
    name="file effect",
    files={
        "workflow.yaml": """\
workflow_id: file-effect
version: 1
agents:
  shout: {kind: command, argv: [sh, -c, "echo x >> ../calls/loud; tr a-z A-Z"]}
nodes:
  hello: {executor: shell, read_only: true, input: {script: "echo x >> ../calls/hello; echo hello"}}
  loud: {agent: shout, depends: [hello], prompt: "${hello.output.stdout}"}
  keep: {executor: file, depends: [loud], input: {path: kept.txt, mode: append, content: "${loud.output}\\n"}}
"""
    },
    effect=b"HELLO\n",
)
SHELL_EFFECT = Scenario(
    name="shell effect",
    files={
        "agent.py": """\
def essay(prompt):
    with open("../calls/write", "a") as file:
        file.write("x\\n")
    return prompt * 10_000
""",
        "workflow.yaml": """\
workflow_id: shell-effect
version: 1
agents:
  essayist: {kind: python, callable: "agent.py:essay"}
nodes:
  write: {agent: essayist, prompt: "x"}
  keep:
    executor: shell
    depends: [write]
    input: {script: "echo x >> ../calls/keep; cat >> kept.txt; wc -c < kept.txt", stdin: "${write.output}"}
""",
    },
    effect=b"x" * 10_000,
)
TORN_LOG = Scenario(name="torn log", files=FILE_EFFECT.files, effect=FILE_EFFECT.effect, prepared_by=Fault("torn", 5))
SCENARIOS = [FILE_EFFECT, SHELL_EFFECT, TORN_LOG]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_sample_of_the_points(scenario: Scenario, mode: str, tmp_path: Path) -> None:
    assert sweep(scenario, mode, tmp_path, every=23) == []


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_point(scenario: Scenario, mode: str, tmp_path: Path) -> None:
    assert sweep(scenario, mode, tmp_path, every=1) == []
