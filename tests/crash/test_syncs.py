"""What a step pays for being durable: each sync is one that an order of writes needs, and there is no other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.crash_matrix import RUN, Scenario, Trial
from tests.crash.faults import KILLED, Fault

LOG, SIDECAR, DIRECTORY, ATTEMPTS, BLOB, BLOBS = "log", "sidecar", "its directory", "attempts/", "blob", "blobs/"
PLAIN = {LOG: 1}
EFFECT = {LOG: 2, SIDECAR: 1, DIRECTORY: 1, ATTEMPTS: 1}


@pytest.mark.parametrize(
    ("step", "syncs"),
    [
        ("agent: cat, prompt: go", PLAIN),
        ("executor: shell, read_only: true, input: {argv: ['true']}", PLAIN),
        ("executor: shell, input: {argv: ['true']}", EFFECT),
        ("executor: file, input: {path: kept.txt, mode: append, content: x}", {**EFFECT, "/kept.txt": 1}),
        (f"agent: cat, prompt: NUMBER {'x' * 10_000}", {**PLAIN, BLOB: 1, BLOBS: 1}),
    ],
    ids=["agent step", "read-only step", "shell effect", "file effect", "value that needs a blob"],
)
def test_one_more_step_costs_no_more_syncs_than_its_order_of_writes(
    step: str, syncs: dict[str, int], tmp_path: Path
) -> None:
    """A large prompt that is also the answer and the output is one blob."""
    few = _syncs(step, 1, tmp_path / "few")
    more = _syncs(step, 2, tmp_path / "more")

    assert more - few == Counter(syncs)


def test_steps_that_wait_for_nobody_share_their_syncs(tmp_path: Path) -> None:
    nodes = "".join(f"  n{number}: {{agent: answerer, prompt: go}}\n" for number in range(256))
    trial = _trial(nodes, tmp_path / "wide")

    events = len(trial.log.splitlines())
    log_syncs = _kinds(trial)[LOG]
    assert events >= 5 * log_syncs


@pytest.mark.parametrize("mode", ["append", "write"])
def test_what_a_look_finds_done_is_durable_before_the_log_says_so(mode: str, tmp_path: Path) -> None:
    """Its driver was killed before it had synced the directory: what is read there may so far be in memory only."""
    nodes = f"  new: {{executor: file, input: {{path: new.txt, mode: {mode}, content: x}}}}\n"
    points = _trial(nodes, tmp_path / "whole").points()
    directory_synced = max(point.number for point in points if point.path == "/")
    trial = Trial(_scenario(nodes), tmp_path / "killed")
    trial.set_up()
    killed = trial.faulty(trial.scenario.words, Fault("kill", directory_synced))

    recovered = trial.faulty(["recover", RUN], Fault("count", 0))

    assert (killed.code, recovered.code) == (KILLED, 0), recovered.err
    synced = [_kind(point.path) for point in trial.points() if point.call in ("fsync", "fdatasync")]
    # The log: that nobody knows, then, once the file is durable, what was found, then the end of the run.
    assert synced[-6:] == ["/runs", LOG, "/new.txt", "/", LOG, LOG]


def _syncs(step: str, number: int, directory: Path) -> Counter[str]:
    """The syncs of a run of so many steps in a row, by what was synced."""
    nodes = "".join(
        f"  n{position}: {{depends: [{f'n{position - 1}' if position else ''}], {step}}}\n".replace(
            "NUMBER", str(position)
        )
        for position in range(number)
    )
    return _kinds(_trial(nodes, directory))


def _trial(nodes: str, directory: Path) -> Trial:
    trial = Trial(_scenario(nodes), directory)
    trial.set_up()
    ended = trial.faulty(trial.scenario.words, Fault("count", 0))
    assert ended.code == 0, ended.err
    return trial


def _scenario(nodes: str) -> Scenario:
    workflow = (
        "workflow_id: syncs\nversion: 1\ndefaults: {max_concurrency: 64}\n"
        'agents: {cat: {kind: command, argv: [cat]}, answerer: {kind: python, callable: "agent.py:answer"}}\n'
        f"nodes:\n{nodes}"
    )
    files = {"workflow.yaml": workflow, "agent.py": "async def answer(prompt):\n    return 'done'\n", "kept.txt": ""}
    return Scenario("syncs", files, effect=b"")


def _kinds(trial: Trial) -> Counter[str]:
    return Counter(_kind(point.path) for point in trial.points() if point.call in ("fsync", "fdatasync"))


def _kind(path: str) -> str:
    match path.split("/")[3:]:
        case ["events.jsonl"]:
            return LOG
        case ["attempts"]:
            return ATTEMPTS
        case ["attempts", _]:
            return DIRECTORY
        case ["attempts", _, "effect-input.json"]:
            return SIDECAR
        case ["blobs"]:
            return BLOBS
        case ["blobs", _]:
            return BLOB
        case _:
            return re.sub(r"\.new-\w+", "new", path)
