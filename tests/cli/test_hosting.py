"""Python that people have written cannot end a command with a code that says that all went well."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine

POLICY = "import os\n\n\n{kind} policy(payload):\n    os._exit(0)\n"
HOOKS = "hooks: [{on: component_pre_execute, python: 'ending.py:policy'}]\n"
FORKING = """\
import os


def answer(prompt):
    child = os.fork()
    if child == 0:
        os._exit(7)
    return str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
FORKED = """\
workflow_id: forked
version: 1
agents: {forking: {kind: python, callable: "forking.py:answer"}}
nodes: {ask: {agent: forking, prompt: x}}
"""


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_hook_that_would_end_the_process_has_failed(cli: CommandLine, kind: str) -> None:
    assert cli.hooks("run", "greeting.yaml", "--run-id", "before", "-q").code == 0
    cli.write("ending.py", POLICY.format(kind=kind))
    cli.write("hooks.yaml", HOOKS)

    replayed = cli.hooks("replay", "before", "--hooks", "hooks.yaml", "--json")
    run = cli.hooks("run", "greeting.yaml", "--run-id", "r", "--hooks", "hooks.yaml")

    assert replayed.code == 3
    assert "os._exit(0)" in replayed.out
    assert run.code == 3
    assert "os._exit(0)" in run.err


@pytest.mark.parametrize(
    "policy",
    [
        "import os\nos._exit(0)\n\n\ndef policy(payload): ...\n",
        "import atexit, os\nfrom hooks import block\n\natexit.register(os._exit, 0)\n\n\n"
        "def policy(payload):\n    return block('no')\n",
    ],
    ids=["when it is loaded", "at exit"],
)
def test_nor_does_it_end_it_at_another_time(cli: CommandLine, policy: str) -> None:
    cli.write("ending.py", policy)
    cli.write("hooks.yaml", HOOKS)
    assert cli.hooks("run", "greeting.yaml", "--run-id", "before", "-q").code == 0

    assert cli.hooks("replay", "before", "--hooks", "hooks.yaml").code != 0
    assert cli.hooks("run", "greeting.yaml", "--hooks", "hooks.yaml").code == 3


def test_a_child_that_a_function_forks_ends_as_it_says(cli: CommandLine) -> None:
    cli.write("forking.py", FORKING)

    assert cli.hooks("run", cli.write("forked.yaml", FORKED)).document == {"ask": "7"}
