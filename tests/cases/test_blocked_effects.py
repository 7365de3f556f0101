"""A policy that ends with 2 keeps each kind of effect from starting."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine
from tests.executors.http_server import serving

KINDS = {
    "shell": "{executor: shell, input: {argv: [touch, done]}}",
    "file": "{executor: file, input: {path: done, content: x}}",
    "http": '{executor: http, input: {url: "@URL@", json: {}}}',
    "python": '{executor: python, input: {callable: "touch.py:touch"}}',
    "acting agent": '{agent: acting, prompt: "act"}',
    "agent": '{agent: answering, prompt: "answer"}',
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_effect_whose_policy_ends_with_2_is_never_started(cli: CommandLine, kind: str) -> None:
    """B66"""
    cli.write("touch.py", "def touch():\n    open('done', 'w')\n")
    with serving() as server:
        cli.write(
            "w.yaml",
            "workflow_id: w\nversion: 1\n"
            "agents:\n"
            "  acting: {kind: command, argv: [touch, done], repeatable: false}\n"
            "  answering: {kind: command, argv: [touch, done]}\n"
            'hooks: [{on: [PreToolUse, generation_pre_call], argv: [sh, -c, "echo not today >&2; exit 2"]}]\n'
            f"nodes:\n  step: {KINDS[kind].replace('@URL@', server.url('/json'))}\n",
        )
        ended = cli.hooks("run", "w.yaml", "--run-id", "r")
        retried = cli.hooks("retry", "r")

    assert (ended.code, retried.code) == (3, 3)
    assert "not today" in ended.err
    assert not (cli.directory / "done").exists()
    assert server.asked == []
    events = {line["type"] for line in cli.log_lines("r")}
    assert "hookDecided" in events
    assert not events & {"effectAttempted", "generationStarted"}
