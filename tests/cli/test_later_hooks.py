"""Hooks that are configured after a run began: whoever goes on with it asks them, and nothing leaves its hook set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import CommandLine

GATED = """\
workflow_id: gated
version: 1
nodes:
  write:
    executor: file
    human_gate: {prompt: "Write it?"}
    input: {path: out.txt, content: "x"}
"""
FAILING = """\
workflow_id: failing
version: 1
nodes:
  write: {executor: file, input: {path: "no/out.txt", content: "x"}}
"""


@pytest.fixture
def project(cli: CommandLine) -> CommandLine:
    (cli.directory / ".hooks").mkdir()
    return cli


def says(cli: CommandLine, name: str, answer: str = "") -> str:
    """A hook before effects, written as an entry: it notes that it was asked, and says `answer`."""
    cli.write(f"{name}.sh", f"#!/bin/sh\ncat >/dev/null\necho {name} >> asked.txt\n{answer}\n")
    (cli.directory / f"{name}.sh").chmod(0o755)
    return f"{{name: {name}, on: effect_pre_attempt, argv: [{cli.directory}/{name}.sh]}}"


def blocks(cli: CommandLine, name: str = "guard") -> str:
    return says(cli, name, f"echo '{name} says no' >&2; exit 2")


def configure(cli: CommandLine, *entries: str) -> None:
    cli.write(".hooks/config.yaml", "hooks: [" + ", ".join(entries) + "]\n")


def waiting(cli: CommandLine, *words: str) -> None:
    """A run that waits at its gate, with the effect before it."""
    assert cli.hooks("run", cli.write("gated.yaml", GATED), "--run-id", "r", "-q", *words).code == 4


def approved(cli: CommandLine) -> None:
    assert cli.hooks("approve", "r").code == 0


def asked(cli: CommandLine) -> list[str]:
    file = cli.directory / "asked.txt"
    return file.read_text().split() if file.exists() else []


def changes(cli: CommandLine) -> list[tuple[list[str], list[str]]]:
    """What each hookSetChanged of the log tells: the names of those changed, and of those added."""
    told = [line["payload"] for line in cli.log_lines("r") if line["type"] == "hookSetChanged"]
    return [tuple([m["name"] for m in payload.get(key, [])] for key in ("changed", "added")) for payload in told]  # type: ignore[misc]


def wrote(cli: CommandLine) -> bool:
    return (cli.directory / "out.txt").exists()


def test_a_policy_that_is_configured_while_a_run_waits_is_asked_when_it_goes_on(project: CommandLine) -> None:
    waiting(project)
    configure(project, blocks(project))
    approved(project)
    assert changes(project) == [], "who only answers a gate asks no hooks"

    ended = project.hooks("recover", "r", "-q")

    assert ended.code == 3
    assert "guard says no" in ended.err
    assert not wrote(project)
    assert changes(project) == [([], ["guard"])]
    assert [hook["name"] for hook in project.hooks("show", "r", "--json").document["hooks"]] == ["guard"]
    assert project.hooks("verify", "r").code == 0
    assert project.hooks("replay", "r").code == 0


@pytest.mark.parametrize("how", [("recover", "r", "-q"), ("run", "gated.yaml", "--run-id", "r", "-q")])
def test_hooks_given_by_flag_are_added(project: CommandLine, how: tuple[str, ...]) -> None:
    waiting(project)
    approved(project)
    project.write("more.yaml", f"[{blocks(project)}]")

    assert project.hooks(*how, "--hooks", "more.yaml").code == 3
    assert changes(project) == [([], ["guard"])]
    assert not wrote(project)


def test_a_retry_asks_those_configured_since_and_those_of_flags_once_each(project: CommandLine) -> None:
    assert project.hooks("run", project.write("failing.yaml", FAILING), "--run-id", "r", "-q").code == 1
    (project.directory / "no").mkdir()
    configure(project, says(project, "early"))
    project.write("more.yaml", f"[{says(project, 'late')}]")

    ended = project.hooks("retry", "r", "-q", "--hooks", "more.yaml")

    assert ended.code == 0
    assert asked(project) == ["early", "late"]
    assert changes(project) == [([], ["early", "late"])]


def test_a_cron_job_asks_the_hooks_of_the_project_that_a_run_is_of(project: CommandLine, tmp_path: Path) -> None:
    waiting(project)
    approved(project)
    configure(project, blocks(project))
    elsewhere = CommandLine(tmp_path / "elsewhere")
    (elsewhere.directory / ".hooks").mkdir(parents=True)
    configure(elsewhere, says(elsewhere, "other"))
    elsewhere.environment["HOOKS_RUNS_DIR"] = str(project.runs)

    assert elsewhere.hooks("tick", "--all").code == 3
    assert changes(project) == [([], ["guard"])]
    assert not wrote(project)


def test_hooks_of_the_users_own_config_are_added_and_stand_before_those_of_the_project(project: CommandLine) -> None:
    configure(project, says(project, "pinned"))
    waiting(project)
    approved(project)
    own = project.directory / ".config" / "hooks"
    own.mkdir(parents=True)
    (own / "config.yaml").write_text(f"hooks: [{says(project, 'own')}]\n")
    (project.directory / "asked.txt").unlink()

    assert project.hooks("recover", "r", "-q").code == 0
    assert [hook["name"] for hook in project.hooks("show", "r", "--json").document["hooks"]] == ["own", "pinned"]
    assert asked(project)[0] == "own"


def test_a_driver_that_has_nothing_to_do_writes_and_says_nothing(project: CommandLine) -> None:
    waiting(project)
    before = project.log_lines("r")
    configure(project, "{name: gone, on: effect_pre_attempt, argv: [./gone.sh]}")

    ended = project.hooks("recover", "r", "-q")

    assert ended.code == 4
    assert "warning" not in ended.err
    assert project.log_lines("r") == before


def test_what_was_decided_is_not_asked_again_for_a_hook_that_comes_after_it(project: CommandLine) -> None:
    changing = """echo '{"patch": {"input": {"content": "y"}}}'"""
    configure(project, says(project, "first", changing))
    waiting(project)
    approved(project)
    configure(project, says(project, "first", changing), says(project, "second"))

    assert project.hooks("recover", "r", "-q").code == 0
    assert asked(project) == ["first", "second"]
    assert (project.directory / "out.txt").read_text() == "y"


def test_a_hook_that_is_no_longer_configured_stays(project: CommandLine) -> None:
    configure(project, says(project, "guard"))
    waiting(project)
    approved(project)
    blocks(project)
    configure(project)

    assert project.hooks("recover", "r", "-q").code == 3
    assert not wrote(project)
    assert changes(project) == [(["guard"], [])]


def test_a_declaration_that_was_edited_does_not_replace_the_pinned_one(project: CommandLine) -> None:
    guard = blocks(project)
    configure(project, guard.replace("}", ", if: payload.attempt > 0}"))
    waiting_or_blocked = project.hooks("run", project.write("gated.yaml", GATED), "--run-id", "r", "-q")
    assert waiting_or_blocked.code == 3
    configure(project, guard.replace("}", ", if: payload.attempt > 9}"))

    ended = project.hooks("retry", "r", "-q")

    assert ended.code == 3
    assert changes(project) == []
    assert ended.err.count("warning:") == 1
    assert "hook guard" in ended.err
    assert "declared otherwise when the run pinned it" in ended.err


def test_a_flag_that_names_another_hook_like_a_pinned_one_is_refused(project: CommandLine) -> None:
    project.write("one.yaml", f"[{says(project, 'guard')}]")
    waiting(project, "--hooks", "one.yaml")
    before = project.log_lines("r")
    project.write("two.yaml", "[{name: guard, on: effect_pre_attempt, argv: ['false']}]")

    ended = project.hooks("recover", "r", "--hooks", "two.yaml")

    assert ended.code == 2
    assert "hook guard: the run has another hook of this name" in ended.err
    assert project.log_lines("r") == before
    assert project.hooks("recover", "r", "--hooks", "one.yaml").code == 4


def test_a_configured_hook_without_its_file_fails_where_it_is_asked_and_can_be_put_right(project: CommandLine) -> None:
    waiting(project)
    approved(project)
    configure(project, "{name: guard, on: effect_pre_attempt, argv: [./no/guard.sh]}")

    ended = project.hooks("recover", "r", "-q")

    assert ended.code == 3
    assert not wrote(project)
    assert f"warning: hook guard ({project.directory}/.hooks/config.yaml): there is no file" in ended.err
    configure(project, says(project, "guard"))
    retried = project.hooks("retry", "r", "-q")
    approved(project)
    assert (retried.code, project.hooks("recover", "r", "-q").code) == (4, 0)
    assert changes(project) == [([], ["guard"]), (["guard"], [])]
    assert wrote(project)


@pytest.mark.parametrize("broken", ["{on: effect_pre, argv: ['true']}", "{on: run_finished"])
def test_a_config_that_cannot_be_read_starts_nothing_and_loses_nothing(project: CommandLine, broken: str) -> None:
    waiting(project)
    approved(project)
    before = project.log_lines("r")
    configure(project, broken)
    elsewhere = CommandLine(project.directory.parent)
    elsewhere.environment["HOOKS_RUNS_DIR"] = str(project.runs)

    ended = elsewhere.hooks("recover", "r")

    assert ended.code == 2
    assert f"{project.directory}/.hooks/config.yaml:1:" in ended.err
    assert project.log_lines("r") == before
    configure(project)
    assert elsewhere.hooks("recover", "r", "-q").code == 0
    assert wrote(project)


def test_a_rerun_keeps_what_was_added_by_flag_once(project: CommandLine) -> None:
    waiting(project)
    approved(project)
    project.write("more.yaml", f"[{says(project, 'look')}]")
    assert project.hooks("recover", "r", "-q", "--hooks", "more.yaml").code == 0

    again = ("--from", "write", "--repeat-effects", "--run-id", "again", "-q")
    assert project.hooks("rerun", "r", *again, "--hooks", "more.yaml").code == 4

    document: Any = project.hooks("show", "again", "--json").document
    assert [hook["name"] for hook in document["hooks"]] == ["look"]
