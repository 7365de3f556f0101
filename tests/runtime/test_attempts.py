"""One attempt, step by step: what is logged in which order, and that every error becomes an event of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hooks.definition.model import CommandAgent, HookEntry, PythonAgent
from hooks.events.payloads import (
    ActivityFailed,
    ActivityTimedOut,
    CancelDelivered,
    ComponentStarted,
    EffectAttempted,
    EffectSettled,
    GenerationFinished,
    NodeFailed,
    ReconcileResult,
    ValidationFinished,
)
from hooks.runtime.attempt_files import FILE_NAME
from hooks.runtime.reading import read_run
from hooks.storage.verify import verify_run
from tests.runtime.runs import Runs, agent_step, append, digest, sh, shell, statuses


def test_the_events_of_an_agent_step_in_order(runs: Runs) -> None:
    report = runs.run(agent_step("a"))

    assert report.output() == {"a": "hello"}
    assert runs.types == [
        "runCreated",
        "runStarted",
        "attemptCreated",
        "componentStarted",
        "samplingLoopStarted",
        "generationStarted",
        "generationFinished",
        "validationFinished",
        "samplingIteration",
        "samplingLoopEnded",
        "componentSucceeded",
        "activitySucceeded",
        "nodeSucceeded",
        "runSucceeded",
    ]


def test_the_events_of_an_effect_in_order(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(append("a", tmp_path / "out", "line\n"))

    assert report.status.status == "succeeded"
    assert (tmp_path / "out").read_text() == "line\n"
    assert runs.types == [
        "runCreated",
        "runStarted",
        "attemptCreated",
        "componentStarted",
        "effectAttempted",
        "effectSettled",
        "componentSucceeded",
        "activitySucceeded",
        "nodeSucceeded",
        "runSucceeded",
    ]


def test_an_effect_is_executed_from_a_sidecar_with_the_logged_hash(runs: Runs) -> None:
    runs.run(shell("a", "true"))
    attempted = runs.only(EffectAttempted)
    (sidecar,) = runs.directory.attempts.glob(f"*/{FILE_NAME}")

    assert digest(sidecar) == attempted.input_hash
    assert re.fullmatch("wf_[0-9a-f]{47}", attempted.idempotency_key)
    assert verify_run(runs.directory) == []


def test_a_read_only_call_has_no_sidecar(runs: Runs) -> None:
    runs.run(shell("a", "echo", "hi", read_only=True))

    assert "activityRunning" in runs.types
    assert "effectAttempted" not in runs.types
    assert list(runs.directory.attempts.glob(f"*/{FILE_NAME}")) == []


def test_outputs_are_bound_into_later_prompts_and_inputs(runs: Runs, tmp_path: Path) -> None:
    runs.run(
        shell("a", "printf", "%s", "x'; touch pwned; $(touch pwned)", read_only=True),
        agent_step("b", "got ${a.output.stdout} (${a.status}) in ${run.id}", depends=["a"]),
        append("c", tmp_path / "out", "${b.output}", depends=["b"]),
    )

    assert (tmp_path / "out").read_text() == "got x'; touch pwned; $(touch pwned) (succeeded) in run"
    assert not (tmp_path / "pwned").exists()


def test_a_reference_without_a_value_fails_the_step_before_anything_starts(runs: Runs, tmp_path: Path) -> None:
    """B50"""
    report = runs.run(
        shell("a", "echo", "hi", read_only=True),
        sh("b", f"touch {tmp_path}/started # ${{a.output.stdotu}}", depends=["a"]),
    )

    assert report.status.status == "failed"
    assert runs.only(ActivityFailed).error.error_code == "UnresolvedReference"
    assert "stdout" in runs.only(ActivityFailed).error.error_message
    assert not (tmp_path / "started").exists()


def test_a_failed_command_fails_the_run_with_its_stderr(runs: Runs) -> None:
    report = runs.run(sh("a", "echo no such table >&2; exit 3"))

    assert report.status.exit_code == 1
    assert runs.only(EffectSettled).outcome == "failed"
    assert "no such table" in runs.only(NodeFailed).error.error_message
    assert not runs.only(NodeFailed).effect_done


def test_a_command_that_is_not_there_is_no_effect(runs: Runs) -> None:
    runs.run(shell("a", "no-such-command-anywhere"))

    assert runs.only(EffectSettled).outcome == "not_done"
    assert "no-such-command-anywhere" in runs.only(NodeFailed).error.error_message


def test_siblings_go_on_when_one_fails_and_dependants_do_not_start(runs: Runs) -> None:
    report = runs.run(
        sh("bad", "exit 1", read_only=True),
        sh("good", "sleep 0.2; echo done", read_only=True),
        agent_step("after", depends=["bad"]),
    )

    assert statuses(report) == {"bad": "failed", "good": "succeeded"}
    assert runs.types[-1] == "runFailed"


def test_a_timeout_is_announced_and_ends_the_whole_tree(runs: Runs, lasting: str) -> None:
    report = runs.run(sh("a", f"sleep {lasting} & sleep {lasting}", read_only=True, timeout_ms=200), grace_ms=100)

    assert report.status.exit_code == 1
    stops = [event.payload for event in runs.events if isinstance(event.payload, CancelDelivered)]
    assert (stops[0].reason, stops[0].signal) == ("timeout", "SIGTERM")
    assert runs.only(ActivityTimedOut).error.error_class == "timeout"
    assert not _is_running(f"sleep {lasting}")


def test_a_step_that_ignores_term_is_killed_after_the_grace(runs: Runs, lasting: str) -> None:
    runs.run(sh("a", f"trap '' TERM; sleep {lasting}", read_only=True, timeout_ms=200), grace_ms=200)

    assert not _is_running(f"sleep {lasting}")
    assert "activityTimedOut" in runs.types


def test_a_timed_out_effect_is_unknown_and_ends_in_doubt(runs: Runs) -> None:
    report = runs.run(sh("a", "sleep 985", timeout_ms=200), agent_step("b"), grace_ms=100)

    assert report.status.exit_code == 10
    assert runs.only(EffectSettled).outcome == "unknown"
    assert runs.only(EffectSettled).error.error_code == "Timeout"
    assert runs.only(ReconcileResult).outcome == "in_doubt"
    assert statuses(report)["b"] == "succeeded"


def test_recovering_a_run_in_doubt_writes_nothing(runs: Runs) -> None:
    runs.run(sh("a", "kill -9 $$"))
    before = runs.directory.log.read_bytes()

    assert runs.recover().status.exit_code == 10
    assert runs.directory.log.read_bytes() == before


def test_the_answer_is_checked_against_the_schema_and_becomes_a_value(runs: Runs) -> None:
    schema = {"type": "object", "required": ["title"]}
    report = runs.run(
        agent_step("a", '```json\n{"title": "t"}\n```', output_schema=schema),
        agent_step("b", "${a.output.title}", depends=["a"]),
    )

    assert report.output() == {"b": "t"}
    checked = [event.payload for event in runs.events if isinstance(event.payload, ValidationFinished)]
    assert [[verdict.passed for verdict in of_step.validations] for of_step in checked] == [[True], []]


def test_an_answer_that_is_not_what_the_schema_asks_fails_the_step(runs: Runs) -> None:
    report = runs.run(agent_step("a", '{"titel": 1}', output_schema={"type": "object", "required": ["title"]}))

    assert report.status.exit_code == 1
    assert runs.only(ActivityFailed).error.error_code == "RequirementsNotMet"
    message = runs.only(ActivityFailed).error.error_message
    assert "title" in message
    assert message.endswith("""The answer: '{"titel": 1}'""")


def test_the_only_fenced_block_of_an_answer_counts(runs: Runs) -> None:
    schema = {"type": "object"}
    report = runs.run(
        agent_step("a", 'Here it is:\n\n```json\n{"n": 1}\n```\nAnything else?', output_schema=schema),
        agent_step("b", '{"code": "```\\nx\\n```"}', output_schema=schema),
    )

    assert report.output() == {"a": {"n": 1}, "b": {"code": "```\nx\n```"}}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "output_schema: the answer is empty. The agent printed nothing."),
        ("```\n1\n```\n```\n2\n```", "it has 2 fenced blocks, of which one would do. The answer: '```"),
        ("```json\n{n: 1}\n```", "the fenced block of the answer is not JSON"),
        ("x" * 500, "xxx'… (+200 characters)"),
    ],
)
def test_an_answer_that_is_no_json_is_shown(runs: Runs, answer: str, message: str) -> None:
    said = CommandAgent(name="said", argv=["printf", "%s", answer])
    runs.run(agent_step("a", agent="said", output_schema={"type": "object"}), agents=[said])

    assert message in runs.only(ActivityFailed).error.error_message


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("requirements=[{'name': 'r', 'check': 'output >'}]", "'requirements' cannot be used: the requirement 'r'"),
        ("requirements=[{'name': 'r', 'judge': {'agent': 'nobody', 'prompt': 'Good?'}}]", "nobody"),
        ("strategy={'strategy': 'guess'}", "'strategy' cannot be used"),
        ("strategy={'strategy': 'rejection', 'loop_budget': 65}", "'strategy' cannot be used"),
        ("tool_calls_enabled=True", "agent cat has no tool_calls_enabled among its options"),
    ],
)
def test_what_could_not_stand_in_a_file_cannot_be_set_by_a_hook(
    runs: Runs, tmp_path: Path, field: str, reason: str
) -> None:
    (tmp_path / "h.py").write_text(f"from hooks import modify\ndef f(payload):\n    return modify({field})\n")
    entry = HookEntry(
        name="f", on=["component_pre_execute"], python="h.py:f", declared_in=str(tmp_path / "workflow.yaml")
    )

    report = runs.run(agent_step("a"), hook_entries=[entry])

    assert report.status.exit_code == 3
    assert reason in runs.only(ActivityFailed).error.error_message


def test_an_output_over_its_limit_fails_the_node_though_the_effect_is_done(runs: Runs) -> None:
    runs.run(sh("a", "head -c 5000 /dev/zero | tr '\\0' x", max_output_bytes=1_000))

    assert runs.only(EffectSettled).outcome == "done"
    assert runs.only(NodeFailed).error.error_code == "OutputTooLarge"
    assert runs.only(NodeFailed).effect_done


def test_a_cut_output_is_not_bound_and_the_error_names_the_file(runs: Runs) -> None:
    """B36: a 50 MB line"""
    report = runs.run(
        sh("big", "head -c 50000000 /dev/zero | tr '\\0' x", read_only=True),
        agent_step("uses", "${big.output.stdout}", depends=["big"]),
        agent_step("asks", "${big.output.stdout_bytes}", depends=["big"]),
    )
    message = runs.only(NodeFailed).error.error_message
    (file,) = re.findall(r"attempts/\S+/stdout", message)

    assert "`max_output_bytes`" in message
    assert (runs.directory.path / file).stat().st_size == 50_000_000
    assert statuses(report)["asks"] == "succeeded"


def test_text_that_is_not_utf_8_is_replaced_and_the_bytes_are_kept(runs: Runs) -> None:
    """B39"""
    report = runs.run(sh("a", r"printf '\262\r\n\033[31mred'", read_only=True))

    assert report.output()["a"]["stdout"] == "�\r\n\x1b[31mred"
    assert next(runs.directory.attempts.glob("*/stdout")).read_bytes() == b"\xb2\r\n\x1b[31mred"


def test_a_failing_agent_says_why(runs: Runs) -> None:
    failing = CommandAgent(name="bad", argv=["sh", "-c", "echo quota exceeded >&2; exit 7"])
    report = runs.run(agent_step("a", agent="bad"), agents=[failing])

    assert report.status.exit_code == 1
    assert "quota exceeded" in runs.only(NodeFailed).error.error_message
    assert runs.only(GenerationFinished).error == runs.only(NodeFailed).error


def test_a_python_agent_answers_with_a_value(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("async def answer(prompt):\n    return {'length': len(prompt)}\n")
    report = runs.run(
        agent_step("a", "hello", agent="py"), agents=[PythonAgent(name="py", callable="agents.py:answer")]
    )

    assert report.output() == {"a": {"length": 5}}


def test_no_more_than_max_concurrency_run_at_once(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(
        "import asyncio\nnow = most = 0\n"
        "async def answer(prompt):\n"
        "    global now, most\n"
        "    now += 1; most = max(most, now)\n"
        "    await asyncio.sleep(0.01)\n"
        "    now -= 1\n"
        "    return most\n"
    )
    report = runs.run(
        *(agent_step(f"n{number}", agent="py") for number in range(12)),
        agents=[PythonAgent(name="py", callable="agents.py:answer")],
        max_concurrency=3,
    )

    assert max(report.output().values()) == 3


def test_large_values_stand_in_blobs_and_come_back_whole(runs: Runs) -> None:
    text = "é" * 100_000
    report = runs.run(agent_step("a", text), agent_step("b", "${a.output}", depends=["a"]))

    assert report.output() == {"b": text}
    bound = [event.payload.bound for event in runs.events if isinstance(event.payload, ComponentStarted)]
    assert [value["outputBytes"] for value in bound] == [200_000, 200_000]
    assert verify_run(runs.directory) == []


@pytest.mark.parametrize("spoof", ['{"outputHash": "0", "outputPath": "../../etc/passwd"}'])
def test_an_answer_cannot_pass_for_a_blob_reference(runs: Runs, spoof: str) -> None:
    report = runs.run(agent_step("a", spoof, output_schema={"type": "object"}))

    assert report.output() == {"a": {"outputHash": "0", "outputPath": "../../etc/passwd"}}
    assert read_run(runs.directory).output() == report.output()


def _is_running(command: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command == path.read_bytes().replace(b"\0", b" ").decode().strip():
                return True
        except OSError:
            continue
    return False
