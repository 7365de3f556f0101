"""Drivers killed in a backoff or a round of a loop: what was done stays, and what is left is done once."""

from __future__ import annotations

import os
from typing import Any

from tests.cli.command import CommandLine

FLAKY = """\
workflow_id: flaky
version: 1
nodes:
  s:
    executor: shell
    read_only: true
    retry: {max_attempts: 4, backoff: exponential, base: 100ms, factor: 20, max_delay: 2s, jitter: 0}
    input: {script: "echo x >> calls; exit 1"}
"""
ROUNDS = """\
workflow_id: rounds
version: 1
nodes:
  rounds: {body: [check, ok], max_iterations: 3, terminate: {node: ok, via: human_gate}, output: {from: check}}
  check:
    executor: shell
    read_only: true
    for_each: [a, b]
    env: {ROUND: "${ok.previous.comment}", ITEM: "${item}"}
    input:
      script: |
        echo "$ITEM$ROUND" >> calls
        if [ "$ITEM$ROUND" = b2 ]; then echo $$ > started; read line < gate; fi
        echo "${ROUND:-1}"
  ok: {type: decision, depends: [check], human_gate: {prompt: "Enough? ${check.output}"}}
"""
GATED_ROUNDS = """\
workflow_id: gated-rounds
version: 1
nodes:
  rounds: {body: [note, ok], max_iterations: 3, terminate: {node: ok, via: human_gate}}
  note: {executor: file, human_gate: {prompt: "Note it?"}, input: {path: notes.txt, mode: append, content: "x\\n"}}
  ok: {type: decision, depends: [note], human_gate: {prompt: "Enough?"}}
"""


def payloads(cli: CommandLine, event_type: str) -> list[Any]:
    return [line["payload"] for line in cli.log_lines("r") if line["type"] == event_type]


def test_a_driver_killed_in_a_backoff_leaves_the_attempts_that_are_left_and_the_time_that_is_left(
    cli: CommandLine,
) -> None:
    """B08"""
    cli.write("flaky.yaml", FLAKY)
    driver = cli.start("run", "flaky.yaml", "--run-id", "r")
    assert driver.stderr is not None
    backoffs = (line for line in driver.stderr if b"next attempt" in line)
    for _ in range(2):
        next(backoffs)
    driver.kill()
    driver.communicate()
    second = payloads(cli, "retryScheduled")[-1]

    pass_too_early = cli.hooks("tick", "r", "-q")
    recovered = cli.hooks("recover", "r", "-q")

    assert (second["nextAttempt"], second["delayMs"], pass_too_early.code) == (3, 2_000, 8)
    assert recovered.code == 1
    assert (cli.directory / "calls").read_text() == "x\n" * 4
    third = next(
        line for line in cli.log_lines("r") if line["type"] == "attemptCreated" and line["payload"]["attempt"] == 3
    )
    assert third["timestamp"] >= second["dueAt"]


def test_each_round_of_a_loop_has_outputs_of_its_own_though_a_round_is_killed(cli: CommandLine) -> None:
    """B14"""
    for fifo in ("started", "gate"):
        os.mkfifo(cli.directory / fifo)
    cli.hooks("run", cli.write("rounds.yaml", ROUNDS), "--run-id", "r", "-q")
    cli.hooks("reject", "r", "--comment", "2")
    driver = cli.start("recover", "r", "-q")
    cli.wait_for_step()
    driver.kill()
    driver.communicate()
    recovery = cli.start("recover", "r", "-q")
    (cli.directory / "gate").write_text("go\n")
    recovery.communicate(timeout=60)
    cli.hooks("reject", "r", "--comment", "3")
    last_round = cli.hooks("recover", "r", "-q")
    cli.hooks("approve", "r")
    ended = cli.hooks("recover", "r", "-q")

    assert (recovery.returncode, last_round.code, ended.code) == (4, 4, 0)
    assert sorted((cli.directory / "calls").read_text().split()) == ["a", "a2", "a3", "b", "b2", "b3"]
    outputs = [(event["activityId"], event["output"]["stdout"]) for event in payloads(cli, "componentSucceeded")]
    assert sorted(outputs) == [
        (f"r::loop::rounds.{number}::work::check[{index}]", f"{number}\n") for number in (1, 2, 3) for index in (0, 1)
    ]
    assert [item["stdout"] for item in cli.hooks("show", "r", "--json").document["output"]["rounds"]] == ["3\n"] * 2


def test_one_approval_lets_one_round_of_a_gated_effect_through(cli: CommandLine) -> None:
    """B12"""
    cli.hooks("run", cli.write("gated.yaml", GATED_ROUNDS), "--run-id", "r", "-q")
    first_wait = payloads(cli, "waitCreated")[-1]["waitId"]
    cli.hooks("approve", "r", "rounds.1/note")
    after_first = cli.hooks("recover", "r", "-q")
    cli.hooks("reject", "r", "rounds.1/ok")
    after_second = cli.hooks("recover", "r", "-q")
    second_wait = payloads(cli, "waitCreated")[-1]["waitId"]
    again = cli.hooks("approve", "r", "rounds.1/note")

    assert (after_first.code, after_second.code, again.code) == (4, 4, 7)
    assert first_wait != second_wait
    assert cli.hooks("show", "r", "--field", "open_gates").out == '["rounds.2/note"]\n'
    assert (cli.directory / "notes.txt").read_text() == "x\n"
