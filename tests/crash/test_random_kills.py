"""`kill -9` at any moment of a run that only asks agents: recovered, it comes to what it would have come to.

The moments are drawn over the whole duration of the command, its start and its end included.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from hooks import read_run, verify_run
from tests.cli.command import CommandLine
from tests.crash.crash_matrix import Scenario, Trial

KILLS = 50
SEED = 20260101

_STEPS = [f"n{number}" for number in range(1, 7)]
_NODES = "\n".join(
    f'  {node}: {{agent: link, depends: [{before}], prompt: "{node} ${{{before}.output}}"}}'
    for before, node in pairwise(_STEPS)
)
CHAIN = Scenario(
    name="chain",
    files={
        "workflow.yaml": f"""\
workflow_id: chain
version: 1
agents:
  link:
    kind: command
    argv: [sh, -c, 'read name rest; echo x >> "../calls/$name"; sleep 0.02; echo "$name after ($rest)"']
nodes:
  n1: {{agent: link, prompt: "n1 nothing"}}
{_NODES}
"""
    },
    effect=b"",
)
WHOLE = {"n6": "n6 after (n5 after (n4 after (n3 after (n2 after (n1 after (nothing))))))"}


def test_a_run_killed_at_any_moment_ends_as_if_undisturbed(tmp_path: Path) -> None:
    duration = _duration_undisturbed(tmp_path / "undisturbed")
    moments = random.Random(SEED)
    kills = [(tmp_path / str(number), moments.uniform(0, duration)) for number in range(KILLS)]
    with ThreadPoolExecutor(2) as pool:
        problems = list(pool.map(lambda kill: _kill_and_recover(*kill), kills))

    assert [problem for problem in problems if problem] == []


def _duration_undisturbed(directory: Path) -> float:
    trial = Trial(CHAIN, directory)
    trial.set_up()
    begin = time.monotonic()
    ended = CommandLine(trial.root).hooks(*CHAIN.words)
    assert ended.code == 0, ended.err
    assert ended.document == WHOLE
    return time.monotonic() - begin


def _kill_and_recover(directory: Path, after_s: float) -> str:
    """Kill a run after so many seconds and recover it; what went wrong, empty if nothing did."""
    trial = Trial(CHAIN, directory)
    trial.set_up()
    driver = CommandLine(trial.root).start(*CHAIN.words)
    time.sleep(after_s)
    driver.kill()
    driver.communicate()
    finished = trial.finished_calls()
    recovered = trial.recover()
    try:
        assert recovered.code == 0, recovered.err
        assert read_run(trial.run).output() == WHOLE
        assert verify_run(trial.run) == []
        assert {**trial.calls(), **finished} == trial.calls(), "a finished node was called again"
        assert set(trial.calls()) == set(_STEPS)
        assert max(trial.calls().values()) <= 2
        assert sum(trial.calls().values()) <= len(_STEPS) + 1, "one kill cost more than one call"
    except AssertionError as problem:
        return f"killed after {after_s:.3f} s: {problem}"
    return ""
