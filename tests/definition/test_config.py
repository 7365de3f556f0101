"""Configuration: nearest project over user, hooks adding up, and where the runs go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hooks.definition.config import Config, load_config, load_hooks_file, resolve_runs_dir
from hooks.definition.defaults_section import Defaults
from hooks.definition.model import CommandAgent, HookEntry
from hooks.errors import DefinitionError
from tests.definition.builders import HEAD, ONE_NODE, load, problem

USER = """
agents: {w: {kind: command, argv: [user]}, u: {kind: command, argv: [u]}}
hooks: [{on: component_pre_execute, argv: [./mine.sh]}]
defaults: {timeout: 1s, max_concurrency: 2}
runs_dir: /var/runs
"""
PROJECT = """
agents: {w: {kind: command, argv: [project]}}
hooks: [{on: component_pre_execute, argv: [./ours.sh]}]
defaults: {max_concurrency: 9}
runs_dir: elsewhere
record_hooks: all
"""


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_without_files_nothing_is_set(tmp_path: Path) -> None:
    assert load_config(tmp_path, {"HOME": str(tmp_path)}) == Config()


def test_the_project_wins_over_the_user_and_hooks_add_up(tmp_path: Path) -> None:
    user = write(tmp_path / "home" / ".config" / "hooks" / "config.yaml", USER)
    project = write(tmp_path / "work" / ".hooks" / "config.yaml", PROJECT)
    start = tmp_path / "work" / "deep" / "er"
    start.mkdir(parents=True)

    assert load_config(start, {"HOME": str(tmp_path / "home")}) == Config(
        agents={"w": CommandAgent(name="w", argv=["project"]), "u": CommandAgent(name="u", argv=["u"])},
        hooks=[
            HookEntry(
                name="mine", on=["component_pre_execute"], argv=["./mine.sh"], declared_in=str(user), origin="user"
            ),
            HookEntry(
                name="ours",
                on=["component_pre_execute"],
                argv=["./ours.sh"],
                declared_in=str(project),
                origin="project",
            ),
        ],
        defaults=Defaults(timeout_ms=1_000, max_concurrency=9),
        runs_dir=tmp_path / "work" / ".hooks" / "elsewhere",
        record_hooks="all",
    )


def test_the_problems_of_both_files_come_at_once(tmp_path: Path) -> None:
    write(tmp_path / "xdg" / "hooks" / "config.yaml", "engine: temporal\n")
    write(tmp_path / ".hooks" / "config.yaml", "agent: {}\nretention: 3d\n")

    with pytest.raises(DefinitionError) as caught:
        load_config(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")})
    assert [found.message for found in caught.value.problems] == [
        "`engine` is not supported yet",
        "unknown key `agent` in the config",
        "`retention` is not supported yet",
    ]


@pytest.mark.parametrize("text", ["", "\n", "# agents:\n#   w: {kind: command, argv: [w]}\n"])
def test_a_config_that_sets_nothing_is_fine(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".hooks" / "config.yaml", text)

    assert load_config(tmp_path, {"HOME": str(tmp_path)}) == Config()


def test_a_config_that_is_no_file_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / ".hooks" / "config.yaml").mkdir(parents=True)
    user = tmp_path / ".config" / "hooks" / "config.yaml"
    user.parent.mkdir(parents=True)
    user.symlink_to("nowhere")

    with pytest.raises(DefinitionError) as caught:
        load_config(tmp_path, {"HOME": str(tmp_path)})
    assert [found.message for found in caught.value.problems] == ["there is no such file", "this is a directory"]


def test_the_runs_dir_is_the_first_that_is_set(tmp_path: Path) -> None:
    project = tmp_path / "p"
    (project / ".hooks").mkdir(parents=True)
    environ = {"HOME": "/home/u", "HOOKS_RUNS_DIR": "from-env"}
    config = Config(runs_dir=Path("/configured"))

    assert resolve_runs_dir("flag", environ, project, config) == project / "flag"
    assert resolve_runs_dir(None, environ, project, config) == project / "from-env"
    assert resolve_runs_dir(None, {"HOOKS_RUNS_DIR": ""}, project, config) == Path("/configured")
    assert resolve_runs_dir(None, {}, project, Config()) == project / ".hooks" / "runs"
    assert resolve_runs_dir(None, {"XDG_STATE_HOME": "/state"}, tmp_path, Config()) == Path("/state/hooks/runs")
    assert resolve_runs_dir(None, {"XDG_STATE_HOME": "relative", "HOME": "/home/u"}, tmp_path, Config()) == Path(
        "/home/u/.local/state/hooks/runs"
    )


@pytest.mark.parametrize(
    "text",
    [
        "hooks:\n  - {on: component_post_success, python: 'p.py:f'}\n",
        "- {on: component_post_success, python: 'p.py:f'}\n",
    ],
)
def test_a_hooks_file_is_a_list_with_or_without_its_key(tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "policy.yaml", text)

    assert load_hooks_file(file) == [
        HookEntry(name="f", on=["component_post_success"], python="p.py:f", declared_in=str(file), origin="flag")
    ]


@pytest.mark.parametrize("text", ["{}", "hooks: 3\n", "hook: []\n", "just text", "- 3\n"])
def test_a_faulty_hooks_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DefinitionError):
        load_hooks_file(write(tmp_path / "policy.yaml", text))


def test_hooks_without_a_name_are_told_apart() -> None:
    two = "hooks: [{on: component_pre_execute, argv: [./x.sh]}, {on: component_post_error, argv: [./x.sh]}]\n"
    same = "hooks: [{on: component_pre_execute, argv: [a], name: n}, {on: component_pre_execute, argv: [b], name: n}]\n"

    assert [hook.name for hook in load(HEAD + two + ONE_NODE).hooks] == ["x", "x-2"]
    assert problem(HEAD + same + ONE_NODE).message == "two hooks are named `n`"


def test_config_without_files_imports_no_yaml(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from hooks.definition.config import load_config;"
        f"load_config(pathlib.Path({str(tmp_path)!r}), {{'HOME': {str(tmp_path)!r}}});"
        "heavy = {'yaml', 'jsonschema_rs', 'cel', 'pydantic', 'asyncio', 'rich'};"
        "print(sorted(heavy & set(sys.modules)))"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
