"""Whoever writes another tool's word, or puts ours where it does not belong, is told ours and where it goes."""

from __future__ import annotations

import pytest

from tests.definition.builders import HEAD, ONE_NODE, node, problem, problems

SHELL = "executor: shell, input: {argv: [echo]}"


@pytest.mark.parametrize("word", ["needs", "depends_on", "dependsOn", "depends-on", "after"])
def test_the_word_of_another_tool_is_answered_with_ours(word: str) -> None:
    found = problem(node(f"{{{SHELL}, {word}: []}}"))

    assert (found.message, found.fix) == (f"unknown key `{word}` in the node `a`", "here it is `depends`")


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        *(("when", "if"), ("condition", "if"), ("foreach", "for_each"), ("map", "for_each"), ("fanOut", "for_each")),
        *(("approval", "human_gate"), ("gate", "human_gate"), ("human", "human_gate")),
        *(("retries", "retry"), ("max_attempts", "retry"), ("continueOnError", "allow_failure")),
    ],
)
def test_a_word_for_a_field_of_any_step_is_answered_with_ours(word: str, ours: str) -> None:
    assert problem(node(f"{{{SHELL}, {word}: 1}}")).fix == f"here it is `{ours}`"


def test_a_word_for_what_another_type_of_node_takes_says_so() -> None:
    found = problem(node(f"{{{SHELL}, loop: [b]}}"))

    assert found.fix == "here it is `body`: it belongs to a loop (`body: […]`); this is an executor call"


def test_a_misspelt_hook_point_is_told_the_one_that_is_meant() -> None:
    hooks = "hooks: [{on: sampling_loop_strat, argv: [x]}]\n"
    assert problem(HEAD + hooks + ONE_NODE).fix == "did you mean `sampling_loop_start`?"


def test_a_node_without_a_type_is_told_what_its_words_mean_here() -> None:
    assert [(found.message, found.fix) for found in problems(node("{loop: [b], own: 1, fan_out: 3}"))] == [
        ("the node `a` has neither `agent` nor `executor`", "add `agent: NAME` or `executor: shell`"),
        ("unknown key `loop` in the node `a`", "here it is `body`"),
        ("unknown key `fan_out` in the node `a`", "here it is `for_each`"),
    ]
    assert problem(node("{human_gate: true}")).fix == "add `type: decision`"


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("max_concurrency: 8", "write `defaults: {max_concurrency: 8}`, or give `-j 8` to `hooks run`"),
        ("maxConcurrency: 8", "write `defaults: {max_concurrency: 8}`, or give `-j 8` to `hooks run`"),
        ("timeout: 10m", "write `defaults: {timeout: 10m}`, or give each node its own"),
        ("retry: {}", "write `defaults: {retry: {max_attempts: 3}}`, or give each node its own"),
        ("retryPolicy: {}", "write `defaults: {retry: {max_attempts: 3}}`, or give each node its own"),
        ("grace: 5s", "write `defaults: {grace: 30s}`, or give `--grace 30s` to `hooks run`"),
    ],
)
def test_a_setting_of_every_node_is_sent_to_defaults(key: str, fix: str) -> None:
    found = problem(f"{HEAD}{key}\n{ONE_NODE}")

    assert found.message.endswith("does not belong into the workflow")
    assert found.fix == fix


def test_a_hook_whose_command_has_another_name_is_told_argv() -> None:
    hooks = "hooks: [{on: component_pre_execute, command: [x]}]\n"

    assert "here it is `argv`" in [found.fix for found in problems(HEAD + hooks + ONE_NODE)]
