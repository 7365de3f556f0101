"""What can be said of the programs and functions a definition names without running any of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.definition.config import load_config, load_hooks_file
from hooks.definition.load import load_workflow
from hooks.errors import DefinitionError, Place, Problem
from tests.definition.builders import HEAD, ONE_NODE

PYTHON = """\
import json
from os import path as where
from textwrap import dedent, indent

LIMIT = 3
if LIMIT:
    def guarded(payload): ...

async def later(payload): ...

class Policy:
    def ask(self, payload): ...
"""


def checked(directory: Path, text: str) -> tuple[list[Problem], list[Problem]]:
    """The problems and the warnings of a workflow in `directory`."""
    file = directory / "w.yaml"
    file.write_text(text)
    warnings: list[Problem] = []
    try:
        load_workflow(file, check_files=True, warn=warnings.append)
    except DefinitionError as error:
        return error.problems, warnings
    return [], warnings


def agent(argv: str, more: str = "") -> str:
    return f"{HEAD}agents:\n  w: {{kind: command, argv: [{argv}]{more}}}\n{ONE_NODE}"


def hook(what: str) -> str:
    return f"{HEAD}hooks:\n  - {{on: component_pre_execute, {what}}}\n{ONE_NODE}"


def test_a_command_that_is_not_there_is_an_error_at_its_place(tmp_path: Path) -> None:
    of_agent, _ = checked(tmp_path, agent("./gone.sh, x"))
    of_hook, _ = checked(tmp_path, hook("argv: [./gone.sh]"))

    message, fix = f"there is no file {tmp_path / 'gone.sh'}", "correct the path; it is looked for beside this file"
    assert of_agent == [Problem(message, Place(str(tmp_path / "w.yaml"), 3, 29), fix)]
    assert of_hook == [Problem(message, Place(str(tmp_path / "w.yaml"), 3, 40), fix)]


def test_a_command_that_is_not_executable_is_an_error_with_the_fix(tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\n")

    ((message, _, fix),) = checked(tmp_path, hook("argv: [./script.sh]"))[0]

    assert (message, fix) == (f"{script} is not executable", f"make it so: `chmod +x {script}`")
    script.chmod(0o755)
    assert checked(tmp_path, hook("argv: [./script.sh]")) == ([], [])


def test_a_command_beside_the_caller_instead_of_the_workflow_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "s.sh").touch()
    monkeypatch.chdir(elsewhere)

    (found,) = checked(tmp_path, agent("./s.sh"))[0]

    assert found.fix == (
        "relative paths of agents and hooks are looked for beside this file, not in the current directory"
    )


def test_a_program_that_is_not_in_path_is_only_warned_about(tmp_path: Path) -> None:
    """PATH may be another one where the run will be."""
    problems, (warning,) = checked(tmp_path, agent("no-such-program"))
    (tmp_path / "here.sh").touch()
    _, (beside,) = checked(tmp_path, agent("here.sh"))

    assert problems == []
    assert warning.message == "there is no program `no-such-program` in PATH here"
    assert warning.place == Place(str(tmp_path / "w.yaml"), 3, 29)
    assert beside.fix == "write `./here.sh` for the file beside this one"
    assert checked(tmp_path, agent("no-such-program", ", env: {PATH: /opt/bin}")) == ([], [])
    assert checked(tmp_path, agent("cat")) == ([], [])


def test_a_program_of_a_step_is_only_warned_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step before it may make it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "s.sh").touch()

    def step(argv: str) -> tuple[list[Problem], list[Problem]]:
        return checked(tmp_path, f"{HEAD}nodes: {{a: {{executor: shell, input: {{argv: [{argv}]}}}}}}\n")

    assert step("./made-by-another-step") == ([], [])
    assert step("no-such-program")[1][0].message == "there is no program `no-such-program` in PATH here"
    assert str(tmp_path / "s.sh") in step("./s.sh")[1][0].message


def test_a_program_of_a_step_that_sets_its_directory_or_path_is_left_to_the_step(tmp_path: Path) -> None:
    for sets in ("cwd: /opt", "env: {PATH: /opt/bin}"):
        step = f"executor: shell, {sets}, input: {{argv: [no-such-program]}}"
        assert checked(tmp_path, f"{HEAD}nodes: {{a: {{{step}}}}}\n") == ([], [])


@pytest.mark.parametrize("name", ["guarded", "later", "Policy", "Policy.ask", "LIMIT", "where", "indent", "json"])
def test_a_function_that_the_file_defines_is_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "p.py").write_text(PYTHON)

    assert checked(tmp_path, hook(f"python: 'p.py:{name}'")) == ([], [])


@pytest.mark.parametrize(
    "dynamic", ["from os.path import *\n", "globals()['f'] = print\n", "def __getattr__(name): ...\n"]
)
def test_a_file_that_makes_its_names_when_it_is_executed_is_let_through(tmp_path: Path, dynamic: str) -> None:
    (tmp_path / "p.py").write_text(dynamic)

    assert checked(tmp_path, hook("python: 'p.py:f'")) == ([], [])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (PYTHON, "{path} defines no `gaurded`"),
        ("x = 1\ndef gaurded(:\n", "{path}:2: invalid syntax"),
        ("return 3\n", "{path}:1: 'return' outside function"),
        ("x = '\0'\n", None),
        (None, "there is no file {path}"),
    ],
)
def test_a_faulty_python_file_is_an_error_at_the_hooks_place(
    tmp_path: Path, source: str | None, message: str | None
) -> None:
    path = tmp_path / "p.py"
    if source is not None:
        path.write_text(source)

    (found,) = checked(tmp_path, hook("python: 'p.py:gaurded'"))[0]

    assert found.place == Place(str(tmp_path / "w.yaml"), 3, 41)
    assert message is None or found.message == message.format(path=path)


def test_nothing_of_a_python_file_is_executed(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("open('ran', 'w')\nraise SystemExit\ndef f(payload): ...\n")

    assert checked(tmp_path, hook("python: 'p.py:f'")) == ([], [])
    assert not (tmp_path / "ran").exists()


def test_a_module_that_is_not_installed_is_warned_about_with_the_file_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def f(payload): ...\n")

    _, (missing,) = checked(tmp_path, hook("python: 'no_such_module.x:f'"))
    _, (beside,) = checked(tmp_path, f"{HEAD}agents: {{w: {{kind: python, callable: 'policy:f'}}}}\n{ONE_NODE}")

    assert (missing.message, missing.fix) == ("there is no module `no_such_module.x` here", "install it")
    assert beside.fix == "write `./policy.py:f` for the file beside this one"
    assert checked(tmp_path, hook("python: 'os.path:join'")) == ([], [])


def test_hooks_of_config_and_flag_are_looked_for_beside_their_own_file(tmp_path: Path) -> None:
    text = "hooks: [{on: component_pre_execute, argv: [./gone.sh]}]\n"
    config = tmp_path / ".hooks" / "config.yaml"
    config.parent.mkdir()
    config.write_text(
        "agents: {w: {kind: command, argv: [./of-the-workflow.sh]}}\n"
        f"{text}executors: {{x: {{argv: [./no-executor]}}, y: {{callable: './gone.py:f'}}}}\n"
    )
    flag = tmp_path / "policy.yaml"
    flag.write_text(text)

    with pytest.raises(DefinitionError) as of_config:
        load_config(tmp_path, {"HOME": str(tmp_path)}, check_files=True)
    with pytest.raises(DefinitionError) as of_flag:
        load_hooks_file(flag, check_files=True)

    assert of_config.value.problems[0].place == Place(str(config), 2, 44)
    names = ("gone.sh", "no-executor", "gone.py")
    assert [found.message for found in of_config.value.problems] == [
        f"there is no file {config.parent / name}" for name in names
    ]
    assert of_flag.value.problems[0].place == Place(str(flag), 1, 44)
    assert load_config(tmp_path, {"HOME": str(tmp_path)}).hooks
