"""Runs whose work a program performs: a command that does not know it leaves them as they are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import hooks
from hooks import DispatchContext, DispatchOutcome, RecoveryResult, Succeeded, WorkflowExecutionHooks
from hooks.definition.model import HostExecutorNode, SubagentNode
from hooks.storage.run_directory import RunDirectory
from tests.cli.command import CommandLine
from tests.cli.workflows import ONE_GATE

MAIL = """\
workflow_id: mail
version: 1
nodes:
  draft: {agent: writer, prompt: "Write."}
  send: {executor: mail, depends: [draft], input: {text: "${draft.output}"}}
"""
GATED = MAIL.replace("send: {", 'send: {human_gate: {prompt: "Send it?"}, ')
MISSING = "the executor `mail` (send)"


class Mail(WorkflowExecutionHooks):
    """Writes mails, and knows which it has sent; with `dies` its driver is gone while it sends one."""

    def __init__(self, *, dies: bool = False) -> None:
        self.dies = dies
        self.sending = asyncio.Event()

    async def execute_subagent(self, ctx: DispatchContext, node: SubagentNode, resolved_prompt: str) -> DispatchOutcome:
        return Succeeded("Dear Ann")

    async def execute_host_executor(
        self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
    ) -> DispatchOutcome:
        self.sending.set()
        if self.dies:
            await asyncio.Event().wait()
        return Succeeded("sent")

    async def recover_dangling_effects(self, log: hooks.EffectLog, snapshot: hooks.RunState) -> RecoveryResult:
        for effect in log.dangling:
            log.done(effect, "was sent")
        return RecoveryResult(had_progress=True)


def started(cli: CommandLine, text: str) -> hooks.OpenRun:
    workflow = hooks.load_workflow(
        cli.directory / "mail.yaml", text=text.encode(), agents=["writer"], executors=["mail"]
    )
    here = cli.directory
    return hooks.start_run(
        workflow, {}, runs_dir=cli.runs, workflow_directory=here, working_directory=here, initiator="t", run_id="mail-1"
    )


@pytest.fixture
def interrupted(cli: CommandLine) -> RunDirectory:
    """The program is gone while it was sending the mail."""

    async def main(run: hooks.OpenRun) -> None:
        mail = Mail(dies=True)
        driving = asyncio.ensure_future(hooks.run_loop(run, implementation=mail))
        await mail.sending.wait()
        driving.cancel()
        await asyncio.wait([driving])

    with started(cli, MAIL) as run:
        asyncio.run(main(run))
        return run.directory


@pytest.mark.parametrize("words", [["recover", "mail-1"], ["tick", "mail-1"]], ids="-".join)
def test_a_command_that_cannot_do_the_work_changes_nothing(
    cli: CommandLine, interrupted: RunDirectory, words: list[str]
) -> None:
    log = interrupted.log.read_bytes()

    refused = cli.hooks(*words)

    assert refused.code == 2
    assert f"nobody here performs {MISSING}" in refused.err
    assert "from the program that does" in refused.err
    assert interrupted.log.read_bytes() == log
    assert asyncio.run(hooks.recover(interrupted, implementation=Mail())).output() == {"send": "was sent"}


def test_a_copy_of_such_a_run_is_not_taken_over_either(cli: CommandLine, interrupted: RunDirectory) -> None:
    interrupted.path.rename(cli.runs / "away")
    (cli.runs / "copy").mkdir()
    for path in (cli.runs / "away").iterdir():
        path.rename(cli.runs / "copy" / path.name)
    log = (cli.runs / "copy" / "events.jsonl").read_bytes()

    assert cli.hooks("recover", "copy", "--take-over").code == 2
    assert (cli.runs / "copy" / "events.jsonl").read_bytes() == log


def test_of_several_runs_the_others_go_on(cli: CommandLine, interrupted: RunDirectory) -> None:
    cli.hooks("run", cli.write("gated.yaml", ONE_GATE), "--run-id", "gated", "-q")
    cli.hooks("approve", "gated")
    log = interrupted.log.read_bytes()

    named = cli.hooks("recover", "mail-1", "gated", "-q")

    assert named.code == 2
    assert "gated succeeded" in named.err
    assert interrupted.log.read_bytes() == log


@pytest.mark.parametrize("verb", ["tick", "recover"])
def test_cron_only_looks_at_such_a_run(cli: CommandLine, interrupted: RunDirectory, verb: str) -> None:
    log = interrupted.log.read_bytes()

    quiet = cli.hooks(verb, "--all", "-q", "--accept", "pending")
    told = cli.hooks(verb, "--all")

    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert told.code == 8
    assert f"# nobody here performs {MISSING}" in told.err
    assert "hooks recover" not in told.err
    assert interrupted.log.read_bytes() == log


def test_what_to_type_next_names_who_has_to_go_on(cli: CommandLine, interrupted: RunDirectory) -> None:
    (step,) = cli.hooks("show", "mail-1", "--json").document["next"]

    assert step.startswith(f"# nobody here performs {MISSING}: go on from the program")


def test_a_gate_is_answered_by_a_command_and_gone_on_with_by_the_program(cli: CommandLine) -> None:
    with started(cli, GATED) as run:
        asyncio.run(hooks.run_loop(run, implementation=Mail()))
        directory = run.directory

    approved = cli.hooks("approve", "mail-1", "--by", "ann")

    assert approved.code == 0
    assert "hooks recover" not in approved.err
    assert cli.hooks("recover", "mail-1").code == 2
    assert asyncio.run(hooks.recover(directory, implementation=Mail())).output() == {"send": "sent"}


def test_a_cancel_says_that_nobody_could_look_the_effect_up(cli: CommandLine, interrupted: RunDirectory) -> None:
    ended = cli.hooks("cancel", "mail-1")

    assert ended.code == 10
    (result,) = [line["payload"] for line in cli.log_lines("mail-1") if line["type"] == "reconcileResult"]
    assert (result["outcome"], result["reason"]) == ("in_doubt", "There is no executor 'mail'.")


def test_a_failed_run_is_not_reopened_or_begun_anew_by_who_cannot_do_it(cli: CommandLine) -> None:
    class Down(Mail):
        async def execute_host_executor(
            self, ctx: DispatchContext, node: HostExecutorNode, parsed_input: Any
        ) -> DispatchOutcome:
            return hooks.Failed("Down", "fatal", "The server is down.", outcome="not_done")

    with started(cli, MAIL) as run:
        assert asyncio.run(hooks.run_loop(run, implementation=Down())).status.status == "failed"
        directory = run.directory
    log = directory.log.read_bytes()

    refused = [cli.hooks("retry", "mail-1"), cli.hooks("rerun", "mail-1", "--from", "send")]

    assert [ended.code for ended in refused] == [2, 2]
    assert all(f"nobody here performs {MISSING}" in ended.err for ended in refused)
    assert directory.log.read_bytes() == log
    assert [path.name for path in cli.runs.iterdir()] == ["mail-1"]
    assert "hooks retry" not in cli.hooks("show", "mail-1").out
    assert cli.hooks("recover", "mail-1", "-q").code == 1


def test_a_program_that_gives_no_implementation_is_told_the_same(cli: CommandLine, interrupted: RunDirectory) -> None:
    log = interrupted.log.read_bytes()

    with pytest.raises(hooks.MissingPerformerError, match="nobody here performs the executor `mail`"):
        asyncio.run(hooks.recover(interrupted))
    with hooks.open_existing(interrupted) as run, pytest.raises(hooks.MissingPerformerError):
        asyncio.run(hooks.run_loop(run))

    assert interrupted.log.read_bytes() == log


def test_a_step_inside_a_loop_and_a_judge_are_named_as_well(cli: CommandLine) -> None:
    text = """\
workflow_id: looped
version: 1
agents: {cat: {kind: command, argv: [cat]}}
nodes:
  first: {agent: cat, prompt: x, requirements: [{name: good, judge: {agent: writer, prompt: "Good?"}}]}
  rounds: {body: [send, ok], max_iterations: 2, terminate: {node: ok, via: human_gate}, depends: [first]}
  send: {executor: mail, input: {text: x}}
  ok: {type: decision, depends: [send], human_gate: {prompt: "Good?"}}
"""
    with started(cli, text) as run, pytest.raises(hooks.MissingPerformerError) as refused:
        asyncio.run(hooks.run_loop(run))

    assert "the executor `mail` (send), the agent `writer` (first)" in refused.value.message
