"""What a conversation costs in the log: each turn its own, however many came before."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hooks.definition.model import PythonAgent
from tests.runtime.runs import Runs, agent_step
from tests.runtime.scripted import looking

AGENT = """\
def answer(prompt, options, messages):
    return f"{prompt} after {len(messages):05}" + "." * 1_000
"""


def test_a_turn_costs_the_log_the_same_whatever_came_before(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "talk.py").write_text(AGENT)
    names = [f"n{number:03}" for number in range(80)]
    steps = [
        agent_step(name, "Go on.", agent="talk", depends=[before], continue_from=before)
        for before, name in pairwise(names)
    ]
    changes = {"generation_pre_call 1": {"prompt": "Go on!"}}

    report = runs.run(
        agent_step(names[0], "Begin.", agent="talk"),
        *steps,
        agents=[PythonAgent(name="talk", callable="talk.py:answer")],
        hook_entries=[looking(tmp_path, changes)],
    )

    assert report.output()[names[-1]].startswith("Go on! after 00158.")
    bytes_of = dict.fromkeys(names, 0)
    for line in runs.directory.log.read_bytes().splitlines():
        for name in names:
            if f'"nodeId":"{name}"'.encode() in line:
                bytes_of[name] += len(line)
    assert abs(bytes_of["n079"] - bytes_of["n040"]) < 200, bytes_of
