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


ENDING = """\
import asyncio


async def cancels(payload):
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0)


async def stops(payload):
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
"""


def ended_by(cli: CommandLine, name: str) -> str:
    assert cli.hooks("run", "greeting.yaml", "--run-id", "before", "-q").code == 0
    cli.write("ending.py", ENDING)
    return cli.write("hooks.yaml", f"hooks: [{{name: bad, on: component_pre_execute, python: 'ending.py:{name}'}}]\n")


def test_a_hook_that_cancels_what_is_not_its_own_is_told_and_the_run_goes_on_without_it(cli: CommandLine) -> None:
    file = ended_by(cli, "cancels")
    for words in (
        ["run", "greeting.yaml", "--run-id", "r"],
        ["recover", "r"],
        ["replay", "before"],
        ["policy", "test", "bad"],
    ):
        ended = cli.hooks(*words, *([] if words[0] == "recover" else ["--hooks", file]))
        assert ended.code == 8, ended.err
        assert "has cancelled tasks that are not its own" in ended.err
        assert "Traceback" not in ended.err

    cli.write("ending.py", "async def cancels(payload): return None\n")

    assert cli.hooks("recover", "r").code == 0


def test_a_hook_that_stops_the_loop_stops_nothing(cli: CommandLine) -> None:
    file = ended_by(cli, "stops")

    assert cli.hooks("run", "greeting.yaml", "--hooks", file).code == 0
    assert cli.hooks("replay", "before", "--hooks", file).code == 0
    assert cli.hooks("policy", "test", "bad", "--hooks", file).code == 0
