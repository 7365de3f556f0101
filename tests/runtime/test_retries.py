"""Attempts: backoff, reopening a finished run, secrets that come from the environment, env and cwd."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.model import CommandAgent, ExecutorDeclaration, Gate, HostExecutorNode, Node, Retry
from hooks.events.payloads import EffectAttempted, NodeFailed, RetryScheduled
from hooks.runtime.reading import read_run
from hooks.storage.verify import verify_run
from tests.runtime.runs import Runs, agent_step, append, sh, shell, statuses


def flaky(tmp_path: Path, times: int) -> str:
    """A script that fails `times` times."""
    return f"echo x >> {tmp_path}/tries; test $(wc -l < {tmp_path}/tries) -gt {times}"


def test_a_step_is_tried_again_after_its_delay(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(sh("a", flaky(tmp_path, 2), read_only=True, retry=Retry(max_attempts=4, base_ms=10, factor=3)))

    assert report.status.exit_code == 0
    delays = [event.payload.delay_ms for event in runs.events if isinstance(event.payload, RetryScheduled)]
    assert delays == [10, 30]


def test_the_default_retry_does_not_repeat_a_command_that_failed(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(sh("a", flaky(tmp_path, 1)), workflow={"retry": Retry(max_attempts=3, base_ms=1)})

    assert report.status.exit_code == 1
    assert (tmp_path / "tries").read_text() == "x\n"


THRICE = Retry(max_attempts=3, base_ms=1)
FLAKY = """\
def flaky(tries):
    with open(tries, "a+") as file:
        file.write("x\\n")
        if file.tell() == 2:
            raise ConnectionError("half done")

class Flaky:
    def execute(self, tries):
        flaky(tries)

    def lookup(self, key, tries):
        return None
"""


def of_each_kind(tmp_path: Path, **terms: Any) -> dict[str, Callable[..., Node]]:
    """For each kind of executor of which nobody knows what a failure leaves behind: a step that fails once."""
    (tmp_path / "flaky.py").write_text(FLAKY)
    tries = str(tmp_path / "tries")

    def calling(executor: str, **given: Any) -> Callable[..., Node]:
        return lambda **fields: HostExecutorNode(id="a", executor=executor, input=given, **fields)

    python = {"callable": "flaky.py:flaky", "args": {"tries": tries}, **terms}
    return {
        "shell": calling("shell", argv=["sh", "-c", flaky(tmp_path, 1)], **terms),
        "python": calling("python", **python),
        "isolated": calling("python", isolate=True, **python),
        "declared-command": calling("declared-command"),
        "declared-function": calling("declared-function", tries=tries),
    }


def declared(tmp_path: Path, **terms: Any) -> list[ExecutorDeclaration]:
    where = {"declared_in": str(tmp_path / "config.yaml"), **terms}
    return [
        ExecutorDeclaration(name="declared-command", argv=["sh", "-c", flaky(tmp_path, 1)], **where),
        ExecutorDeclaration(name="declared-function", callable="flaky.py:flaky", **where),
    ]


KINDS = ("shell", "python", "isolated", "declared-command", "declared-function")


@pytest.mark.parametrize("kind", KINDS)
def test_what_may_be_half_done_is_not_repeated_by_a_default(runs: Runs, tmp_path: Path, kind: str) -> None:
    step = of_each_kind(tmp_path)[kind]
    report = runs.run(step(), workflow={"retry": THRICE, "executors": declared(tmp_path)})

    assert report.status.exit_code == 1
    assert (tmp_path / "tries").read_text() == "x\n"
    assert runs.only(EffectAttempted).may_retry is False


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_repeated_where_its_step_says_so(runs: Runs, tmp_path: Path, kind: str) -> None:
    step = of_each_kind(tmp_path)[kind]
    report = runs.run(step(retry=THRICE), workflow={"executors": declared(tmp_path)})

    assert report.status.exit_code == 0
    assert (tmp_path / "tries").read_text() == "x\nx\n"


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_repeated_by_a_default_where_a_repeat_is_harmless(runs: Runs, tmp_path: Path, kind: str) -> None:
    step = of_each_kind(tmp_path, idempotent=True)[kind]
    executors = declared(tmp_path, idempotent=True)
    report = runs.run(step(), workflow={"retry": THRICE, "executors": executors})

    assert report.status.exit_code == 0
    assert (tmp_path / "tries").read_text() == "x\nx\n"


def test_it_is_repeated_by_a_default_where_it_can_be_looked_up(runs: Runs, tmp_path: Path) -> None:
    of_each_kind(tmp_path)
    python = {"callable": "flaky.py:Flaky", "args": {"tries": str(tmp_path / "tries")}}
    report = runs.run(HostExecutorNode(id="a", executor="python", input=python), workflow={"retry": THRICE})

    assert report.status.exit_code == 0
    assert (tmp_path / "tries").read_text() == "x\nx\n"


def test_an_answer_with_consequences_is_not_asked_for_again_by_a_default(runs: Runs, tmp_path: Path) -> None:
    acting = CommandAgent(
        name="acting",
        argv=["sh", "-c", f"({flaky(tmp_path, 1)}) || {{ echo busy >&2; exit 1; }}"],
        error_classes={"retryable": ["busy"]},
        repeatable=False,
    )
    report = runs.run(agent_step("a", agent="acting"), agents=[acting], workflow={"retry": THRICE})

    assert report.status.exit_code == 1
    assert (tmp_path / "tries").read_text() == "x\n"


def test_what_certainly_did_not_happen_is_repeated_by_a_default(runs: Runs, tmp_path: Path) -> None:
    """Its program is not there: nothing has begun."""
    retry = Retry(max_attempts=2, base_ms=1, on=("userFault",))
    report = runs.run(shell("a", str(tmp_path / "missing")), workflow={"retry": retry})

    assert report.status.exit_code == 1
    assert runs.types.count("effectAttempted") == 2


def test_a_pass_leaves_the_backoff_to_a_later_driver(runs: Runs, tmp_path: Path) -> None:
    """B08"""
    report = runs.tick(sh("a", flaky(tmp_path, 1), read_only=True, retry=Retry(max_attempts=2, base_ms=50)))
    assert report.status.exit_code == 8
    assert report.status.next_due_at is not None

    assert runs.recover().status.exit_code == 0
    assert (tmp_path / "tries").read_text() == "x\nx\n"


def test_reopening_tries_only_what_failed(runs: Runs, tmp_path: Path) -> None:
    """B05"""
    steps = [sh(f"n{n}", f"echo {n} >> {tmp_path}/log; test {n} != 1 -o -e {tmp_path}/fixed") for n in range(3)]
    report = runs.run(*steps, agent_step("after", depends=["n1"]), workflow={"on_failure": "continue"})
    assert report.status.exit_code == 1

    (tmp_path / "fixed").touch()
    report = runs.retry()

    assert report.status.exit_code == 0
    assert sorted((tmp_path / "log").read_text().split()) == ["0", "1", "1", "2"]
    assert verify_run(runs.directory) == []


def test_a_done_effect_is_judged_again_but_not_done_again(runs: Runs, tmp_path: Path) -> None:
    step = sh("a", f"echo x >> {tmp_path}/log; head -c 2000 /dev/zero", max_output_bytes=10)
    assert runs.run(step).status.exit_code == 1
    assert runs.only(NodeFailed).effect_done
    report = runs.retry()

    assert report.status.exit_code == 1
    assert (tmp_path / "log").read_text() == "x\n"


def test_gates_ask_again_when_a_run_is_reopened(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(append("a", tmp_path / "out", "x", human_gate=Gate(deadline_ms=0)))
    assert report.status.exit_code == 1
    report = runs.retry()

    assert runs.types.count("waitCreated") == 2
    assert not (tmp_path / "out").exists()


def test_a_secret_reaches_the_command_and_no_file(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-v4lue-of-24-bytes")
    step = sh(
        "a",
        f'test "$AUTH" = "Bearer $TOKEN" && touch {tmp_path}/right; echo "$AUTH"; echo "$AUTH" >&2',
        env={"AUTH": "Bearer ${secrets.TOKEN}"},
        secrets=["TOKEN"],
    )
    report = runs.run(step)

    assert (tmp_path / "right").exists()
    assert report.output()["a"]["stdout"] == "Bearer [secret TOKEN]\n"
    assert not [
        path for path in runs.directory.path.rglob("*") if path.is_file() and b"s3cr3t-v4lue" in path.read_bytes()
    ]
    assert verify_run(runs.directory) == []


def test_a_missing_secret_starts_nothing(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKEN", raising=False)
    report = runs.run(sh("a", f"touch {tmp_path}/started", env={"T": "${secrets.TOKEN}"}, secrets=["TOKEN"]))

    assert report.status.exit_code == 1
    assert "TOKEN" in runs.only(NodeFailed).error.error_message
    assert not (tmp_path / "started").exists()
    assert "effectAttempted" not in runs.types


def test_bound_data_that_looks_like_a_secret_is_data(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-v4lue-of-24-bytes")
    report = runs.run(
        HostExecutorNode(
            id="a",
            executor="shell",
            read_only=True,
            input={"argv": ["cat"], "stdin": "${params.text}"},
            secrets=["TOKEN"],
        ),
        params={"text": '{"$secret": "${TOKEN}"} ${secrets.TOKEN}'},
    )

    assert report.output()["a"]["stdout"] == '{"$secret": "${TOKEN}"} ${secrets.TOKEN}'


def test_a_step_runs_in_its_directory_with_its_environment(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    report = runs.run(
        sh("a", 'pwd; echo "$GREETING"', read_only=True, cwd="${params.where}", env={"GREETING": "hi ${run.id}"}),
        params={"where": "sub"},
    )

    assert report.output()["a"]["stdout"] == f"{tmp_path}/sub\nhi run\n"


def test_an_allowed_failure_is_seen_by_those_who_ask(runs: Runs) -> None:
    report = runs.run(
        sh("bad", "exit 1", read_only=True, allow_failure=True),
        agent_step("after", "bad was ${bad.status}", depends=["bad"]),
    )

    assert report.output() == {"after": "bad was failed"}
    assert statuses(report)["bad"] == "failed"


def test_a_run_reads_the_same_for_one_who_only_looks(runs: Runs, tmp_path: Path) -> None:
    report = runs.run(sh("a", flaky(tmp_path, 1), read_only=True, retry=Retry(max_attempts=2, base_ms=1)))

    assert read_run(runs.directory).state == report.state


def test_a_later_driver_may_run_more_or_less_at_once(runs: Runs, tmp_path: Path) -> None:
    runs.tick(sh("a", flaky(tmp_path, 1), read_only=True, retry=Retry(max_attempts=2, base_ms=1)), max_concurrency=4)
    report = runs.recover(max_concurrency=1)

    assert report.status.exit_code == 0
    assert report.state.max_concurrency == 1
    assert read_run(runs.directory).state.max_concurrency == 1


def test_a_step_that_does_not_list_a_secret_has_not_got_it(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-v4lue-of-24-bytes")
    report = runs.run(
        sh("listed", 'echo "$AUTH"', env={"AUTH": "${secrets.TOKEN}"}, secrets=["TOKEN"]),
        sh("other", 'echo "got=$TOKEN"', read_only=True),
        sh("finds", "echo s3cr3t-v4lue-of-24-bytes", read_only=True),
    )

    assert report.output()["other"]["stdout"] == "got=\n"
    assert report.output()["finds"]["stdout"] == "[secret TOKEN]\n"
