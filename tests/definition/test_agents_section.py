# ruff: noqa: E501  (a row of a table is one line)
"""Agents in a file: presets are expanded, endpoints are described, and what is wrong is said with its fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.definition.agent_presets import PRESETS
from hooks.definition.config import Config
from hooks.definition.defaults_section import Defaults
from hooks.definition.load import load_workflow
from hooks.definition.model import AgentDeclaration, CommandAgent, OpenAIAgent, SubagentNode, every_node
from hooks.errors import Problem
from tests.definition.builders import HEAD, ONE_NODE, load, node, problem, problems


def declared(agent: str) -> AgentDeclaration:
    (only,) = load(f"{HEAD}agents: {{a: {agent}}}\n{ONE_NODE}").agents
    return only


def command(agent: str) -> CommandAgent:
    found = declared(f"{{kind: command, {agent}}}")
    assert isinstance(found, CommandAgent)
    return found


def fault(agent: str) -> Problem:
    return problem(f"{HEAD}agents: {{a: {agent}}}\n{ONE_NODE}")


# ---- presets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "argv", "output", "repeatable", "knows_tools"),
    [
        ("claude", ["claude", "-p", "--output-format", "json"], "json", False, True),
        ("codex", ["codex", "exec", "--json", "--skip-git-repo-check", "-"], "jsonl", False, True),
        ("gemini", ["gemini", "--output-format", "json"], "json", False, True),
        ("llm", ["llm", "prompt", "--no-stream"], "text", True, False),
    ],
)
def test_a_preset_is_expanded(preset: str, argv: list[str], output: str, repeatable: bool, knows_tools: bool) -> None:
    agent = command(f"preset: {preset}")

    assert (agent.argv, agent.output, agent.repeatable, agent.knows_tools) == (argv, output, repeatable, knows_tools)
    assert "model" in agent.honoured_options
    assert agent.timeout_ms == PRESETS[preset].timeout_ms


def test_keys_beside_a_preset_win_over_it() -> None:
    agent = command(
        "preset: codex, argv: [npx, codex], timeout: 5s, repeatable: true, model: m, options: {x: [-x]}, extract: text, error_classes: {fatal: .}"
    )

    assert agent == CommandAgent(
        name="a",
        argv=["npx", "codex", "exec", "--json", "--skip-git-repo-check", "-"],
        output="jsonl",
        extract="text",
        error_extract=["[type=turn.failed].error", "[type=error].message"],
        usage_extract="[type=turn.completed].usage",
        error_classes={"fatal": ["."]},
        model="m",
        model_options={"model": "m"},
        options={"model": ["--model", "{value}"], "tool_calls_enabled": [], "x": ["-x"]},
        timeout_ms=5_000,
        repeatable=True,
    )


def test_a_preset_without_its_tools_may_be_asked_again() -> None:
    agent = command("preset: claude, tools: false")

    assert agent.argv == ["claude", "-p", "--output-format", "json", "--tools", "", "--strict-mcp-config"]
    assert (agent.repeatable, agent.knows_tools) == (True, False)


def test_another_form_of_output_leaves_the_paths_of_the_preset_behind() -> None:
    agent = command("preset: gemini, output: text")

    assert (agent.output, agent.extract, agent.error_extract, agent.model_extract) == ("text", None, None, None)


@pytest.mark.parametrize(
    ("agent", "message", "fix"),
    [
        ("preset: cluade", "`preset` must be one of `claude`, `codex`, `gemini`, `llm`, but is the text 'cluade'", "did you mean `claude`?"),
        ("preset: codex, tools: false", "the preset `codex` has no switch for its tools", "remove `tools`; `repeatable: true` says that its answers may be drawn again"),
        ("preset: llm, tools: false", "the preset `llm` has no switch for its tools", "remove `tools`: it uses none"),
        ("argv: [x], tools: false", "`tools` goes with `preset`", "say it with the arguments in `argv`"),
        ("preset: claude, model: a, model_options: {model: b}", "`model` and `model_options.model` say the same thing twice", "remove one"),
        ("preset: claude, model_options: {temperature: 1}", "the agent `a` does not honour the option `temperature`", None),
        ("preset: claude, model_options: {modle: x}", "the agent `a` does not honour the option `modle`", "did you mean `model`?"),
        ("preset: claude, extract: '[x'", "`extract`: '[x' is no path into a JSON document", None),
        ("argv: [x], output: jsonl", "`output: jsonl` does not say which line has the answer", "add `extract`, such as `[type=message].text`; the last line that has it counts"),
        ("argv: [x], error_extract: [error]", "`error_extract` needs a JSON answer", "add `output: json`"),
        ("argv: [x], output: json, error_extract: [error, 'a..b']", "`error_extract[1]`: 'a..b' is no path into a JSON document", None),
        ("argv: [x], error_classes: {retriable: [x]}", "`error_classes`: `retriable` is no class that an agent's error can have", "did you mean `retryable`?"),
        ("argv: [x], error_classes: {fatal: ['(']}", "`error_classes.fatal`: '(' is no regular expression (missing ), unterminated subpattern at position 0)", None),
        ("argv: [x], error_classes: [x]", "`error_classes` must map classes to regular expressions, but is a list", None),
        ("argv: [x], model_options: {t: 1}, options: {t: [-t]}", "the agent `a` would not hear this value: its option `t` has no \"{value}\"", None),
        ("argv: [x], base_url: 'http://x'", "`base_url` does not belong into the agent `a`", "it belongs to an openai agent (`kind: openai`)"),
        ("argv: [x], callable: 'm:f'", "`callable` does not belong into the agent `a`", "it belongs to a python agent (`kind: python`)"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_command_agent(agent: str, message: str, fix: str | None) -> None:
    found = fault(f"{{kind: command, {agent}}}")

    assert found.message == message
    assert fix is None or found.fix == fix


# ---- openai --------------------------------------------------------------------------------------------------------


def test_an_endpoint() -> None:
    agent = "{kind: openai, baseUrl: 'http://127.0.0.1:8080/v1', model: small, api_key_env: KEY, stream: true, options: [top_k], model_options: {seed: 1, top_k: 2}, timeout: 2m, repeatable: false, project: p}"

    assert declared(agent) == OpenAIAgent(
        name="a",
        base_url="http://127.0.0.1:8080/v1",
        model="small",
        api_key_env="KEY",
        stream=True,
        options=["top_k"],
        model_options={"seed": 1, "top_k": 2},
        timeout_ms=120_000,
        repeatable=False,
        project="p",
    )


def test_an_endpoint_of_ones_own_needs_no_key_and_the_public_one_does() -> None:
    own, public = declared("{kind: openai, base_url: 'http://h/v1', model: m}"), declared("{kind: openai, model: m}")

    assert own == OpenAIAgent(name="a", base_url="http://h/v1", model="m")
    assert public == OpenAIAgent(
        name="a", base_url="https://api.openai.com/v1", model="m", api_key_env="OPENAI_API_KEY"
    )


@pytest.mark.parametrize(
    ("more", "message", "fix"),
    [
        ("api_key: sk-123", "`api_key` does not belong into the agent `a`", "a key never stands in a file: write `api_key_env:` with the name of the variable that has it"),
        ("api_key_env: sk-123", "`api_key_env` is no name of a variable", "write the name of the variable that has the key, such as OPENAI_API_KEY; a key never stands in a file"),
        ("base_url: localhost", "`base_url` is 'localhost', which is no URL", "write it like http://127.0.0.1:8080/v1"),
        ("base_url: 'http://[x'", "`base_url` is 'http://[x', which is no URL", None),
        ("base_url: 'http://u:secret@h/v1'", "`base_url` holds a user or a password", None),
        ("base_url: 'http://h/v1?key=x'", "`base_url` holds more than a host and a path", None),
        ("base_url: 'http://h/v1/chat/completions'", "`base_url` ends with /chat/completions, which is added to it", "write http://h/v1"),
        ("base_url: 'http://${params.host}/v1'", "references do not work in `base_url` of an agent", "write the value itself"),
        ("temperature: 0", "`temperature` does not belong into the agent `a`", "write it as a model option: `model_options: {temperature: …}`"),
        ("argv: [x]", "`argv` does not belong into the agent `a`", "it belongs to a command agent (`kind: command`)"),
        ("base_ulr: x", "unknown key `base_ulr` in the agent `a`", "did you mean `base_url`?"),
        ("endpoint: x", "unknown key `endpoint` in the agent `a`", "here it is `base_url`"),
        ("token: x", "unknown key `token` in the agent `a`", "here it is `api_key_env`"),
        ("stream: maybe", "`stream` must be true or false, but is the text 'maybe'", None),
        ("options: top_k", "`options` must be a list of texts, but is the text 'top_k'", None),
        ("model_options: {temprature: 0}", "the agent `a` does not honour the option `temprature`", "did you mean `temperature`?"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_endpoint(more: str, message: str, fix: str | None) -> None:
    found = fault(f"{{kind: openai, model: m, {more}}}")

    assert found.message == message
    assert fix is None or found.fix == fix
    assert "123" not in str(found)


def test_all_faults_of_an_endpoint_are_told_at_once_with_their_places() -> None:
    text = f"{HEAD}agents:\n  a: {{kind: openai, base_url: x, stream: 1}}\n{ONE_NODE}"

    assert [str(found).splitlines()[0] for found in problems(text)] == [
        "w.yaml:3:3: the agent `a` has no `model`",
        "w.yaml:3:31: `base_url` is 'x', which is no URL",
        "w.yaml:3:42: `stream` must be true or false, but is the number `1`",
    ]


# ---- what steps may ask of them ------------------------------------------------------------------------------------

ENDPOINT = "agents: {w: {kind: openai, base_url: 'http://h/v1', model: m, options: [top_k]}}\n"


def test_a_step_sets_what_the_endpoint_knows() -> None:
    assert load(node("{agent: w, prompt: x, model_options: {seed: 1, top_k: 2}}", head=ENDPOINT)).nodes


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("model_options: {top_kk: 1}", "the agent `w` does not honour the option `top_kk`"),
        ("model_options: {format: {}}", "the agent `w` does not honour the option `format`"),
        ("env: {A: b}", "`env` does nothing for an endpoint (`w`), which starts no process"),
    ],
)
def test_what_an_endpoint_does_not_know_is_refused_in_a_step(step: str, message: str) -> None:
    assert problem(node(f"{{agent: w, prompt: x, {step}}}", head=ENDPOINT)).message == message


LAYERS = """\
workflow_id: w
defaults: {model_options: {seed: 1, temperature: 1, top_p: 1}}
agents:
  e: {kind: openai, base_url: 'http://h/v1', model: m, model_options: {temperature: 2, top_p: 2}}
  c: {kind: command, argv: [c], options: {seed: [-s, "{value}"]}}
  p: {kind: python, callable: 'm:f', model_options: [temperature]}
nodes:
  ask: {agent: e, prompt: x, model_options: {top_p: 3, stop: null}}
  tell: {agent: c, prompt: x}
  call: {agent: p, prompt: x}
  rounds: {body: [again, ok], max_iterations: 2, terminate: {node: ok, via: human_gate}}
  again: {agent: e, prompt: x}
  ok: {type: decision, depends: [again], human_gate: {prompt: x}}
"""


def test_a_step_has_its_options_over_those_of_its_agent_over_the_defaults() -> None:
    found = {node.id: node.model_options for node in every_node(load(LAYERS)) if isinstance(node, SubagentNode)}

    assert found == {
        "ask": {"seed": 1, "temperature": 2, "top_p": 3, "stop": None},
        "tell": {"seed": 1},
        "call": {"temperature": 1},
        "again": {"seed": 1, "temperature": 2, "top_p": 2},
    }


def test_the_defaults_of_a_config_are_below_those_of_the_file() -> None:
    config = Config(defaults=Defaults(model_options={"seed": 7, "stop": "x", "unheard": 1}))

    (first, *_) = load(LAYERS, config=config).nodes
    assert isinstance(first, SubagentNode)
    assert first.model_options == {"seed": 1, "stop": None, "temperature": 2, "top_p": 3}


def test_a_default_that_no_agent_honours_is_refused() -> None:
    found = problem(LAYERS.replace("{seed: 1, temp", "{sead: 1, temp"))

    assert str(found) == "w.yaml:2:28: no agent here honours the option `sead`\n    fix: did you mean `seed`?"


# ---- what is looked for around the file ----------------------------------------------------------------------------


def warned(tmp_path: Path, agents: str) -> list[str]:
    found: list[Problem] = []
    file = tmp_path / "w.yaml"
    file.write_text(f"{HEAD}agents: {agents}\nnodes: {{a: {{agent: a, prompt: x}}}}\n")
    load_workflow(file, check_files=True, warn=found.append, name="w.yaml")
    return [str(each) for each in found]


def test_a_variable_without_a_key_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODEL_KEY", raising=False)
    agent = "{a: {kind: openai, base_url: 'http://h/v1', model: m, api_key_env: MODEL_KEY}}"

    assert warned(tmp_path, agent) == [
        "w.yaml:2:76: the variable MODEL_KEY, which has the key of the agent `a`, is not set here\n"
        "    fix: set it where the run is started: `export MODEL_KEY=…`"
    ]
    monkeypatch.setenv("MODEL_KEY", "x")
    assert warned(tmp_path, agent) == []


def test_the_program_of_a_preset_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert warned(tmp_path, "{a: {kind: command, preset: llm}}")[0].startswith(
        "w.yaml:2:37: there is no program `llm` in PATH here"
    )
    (tmp_path / "fake").write_text("#!/bin/sh\n")
    (tmp_path / "fake").chmod(0o755)
    assert warned(tmp_path, "{a: {kind: command, preset: llm, argv: [./fake]}}") == []
