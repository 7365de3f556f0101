# ruff: noqa: E501  (a row of a table is one line)
"""Executors and agents by name: built in, declared in a config, or registered by another distribution."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hooks.definition.config import Config, load_config
from hooks.definition.model import CommandAgent, ExecutorDeclaration, HostExecutorNode, PythonAgent
from hooks.errors import DefinitionError
from tests.definition.builders import load, node, problem

CHAT = ExecutorDeclaration(name="chat", argv=["./chat"])
CONFIG = Config(executors={"chat": CHAT, "unused": ExecutorDeclaration(name="unused", callable="m:f")})


def test_a_declared_executor_takes_any_input_and_becomes_part_of_the_workflow() -> None:
    text = node("{executor: chat, input: {someKey: [1, {argv: x}], script: '$${x}'}}")
    workflow = load(text, config=CONFIG)

    assert workflow.executors == [CHAT]
    assert workflow.nodes == [
        HostExecutorNode(id="a", executor="chat", input={"someKey": [1, {"argv": "x"}], "script": "$${x}"})
    ]


def test_an_executor_that_nobody_knows_names_the_key_of_the_config() -> None:
    assert problem(node("{executor: pigeon_post, input: {}}")).fix == (
        "declare it as `executors.pigeon_post` in .hooks/config.yaml; there is: `file`, `http`, `python`, `shell`"
    )
    assert problem(node("{executor: chatt, input: {}}"), config=CONFIG).fix == (
        "did you mean `chat`? Otherwise declare it as `executors.chatt` in .hooks/config.yaml"
    )


def test_an_agent_that_nobody_knows_names_the_key_of_the_config() -> None:
    assert problem(node("{agent: scribe, prompt: x}")).fix == (
        "declare it under `agents` here or as `agents.scribe` in .hooks/config.yaml; there is: none"
    )


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("{executor: file, input: {path: x, content: y}, env: {A: b}}", "`file`"),
        ("{executor: http, input: {url: 'http://x'}, env: {A: b}}", "`http`"),
        ("{executor: python, input: {callable: 'm:f'}, env: {A: b}}", "`python`"),
        ("{agent: p, prompt: x, env: {A: b}}", "a Python callable (`p`)"),
    ],
)
def test_env_that_would_reach_nobody_is_refused(body: str, what: str) -> None:
    config = Config(agents={"p": PythonAgent(name="p", callable="m:f")})

    assert problem(node(body), config=config).message == f"`env` does nothing for {what}, which starts no process"


@pytest.mark.parametrize(
    "body",
    [
        "{executor: python, input: {callable: 'm:f', isolate: true}, env: {A: b}}",
        "{executor: chat, input: {}, env: {A: b}}",
        "{agent: c, prompt: x, env: {A: b}}",
    ],
)
def test_env_that_reaches_a_process_is_fine(body: str) -> None:
    config = Config(agents={"c": CommandAgent(name="c", argv=["c"])}, executors={"chat": CHAT})

    assert len(load(node(body), config=config).nodes) == 1


def configured(tmp_path: Path, text: str) -> Config:
    file = tmp_path / ".hooks" / "config.yaml"
    file.parent.mkdir()
    file.write_text(text)
    return load_config(tmp_path, {"HOME": str(tmp_path)})


def test_executors_are_declared_in_a_config(tmp_path: Path) -> None:
    text = """\
executors:
  chat: {argv: [../chat.py], lookup: [../chat.py, --lookup], idempotent: true, idempotencyTtl: 1h, env: {A: b}}
  count: {python: "tools.py:count"}
  other: {callable: "m:f"}
"""
    declared_in = str(tmp_path / ".hooks" / "config.yaml")

    assert configured(tmp_path, text).executors == {
        "chat": ExecutorDeclaration(
            name="chat",
            argv=["../chat.py"],
            lookup=["../chat.py", "--lookup"],
            idempotent=True,
            idempotency_ttl_ms=3_600_000,
            env={"A": "b"},
            declared_in=declared_in,
        ),
        "count": ExecutorDeclaration(name="count", callable="tools.py:count", declared_in=declared_in),
        "other": ExecutorDeclaration(name="other", callable="m:f", declared_in=declared_in),
    }


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("executors: []\n", "`executors` must be a mapping of names to executors, but is a list", None),
        ("executors: {shell: {argv: [x]}}\n", "the executor `shell` is built in", "choose a name other than `file`, `http`, `python`, `shell`"),
        ("executors: {a b: {argv: [x]}}\n", "'a b' is no name for an executor", None),
        ("executors: {c: {}}\n", "the executor `c` has neither `argv` nor a callable", None),
        ("executors: {c: {argv: [x], python: 'm:f'}}\n", "the executor `c` has both `argv` and a callable", None),
        ("executors: {c: {python: nonsense}}\n", "`callable` is 'nonsense'", "write `module:function` or `file.py:function`"),
        ("executors: {c: {python: 'm:f', lookup: [x]}}\n", "`lookup` goes with `argv`, not with a callable", None),
        ("executors: {c: {python: 'm:f', env: {}}}\n", "`env` goes with `argv`, not with a callable", None),
        ("executors: {c: {argv: [x], idempotent: maybe}}\n", "`idempotent` must be true or false, but is the text 'maybe'", None),
        ("executors: {c: {argv: [x], timeout: 1s}}\n", "unknown key `timeout` in the executor `c`", None),
        ("executors: {c: ./chat}\n", "the executor `c` must be a mapping, but is the text './chat'", None),
    ],
)  # fmt: skip
def test_a_mistake_in_the_executors_of_a_config_is_one_message(
    tmp_path: Path, text: str, message: str, fix: str | None
) -> None:
    with pytest.raises(DefinitionError) as caught:
        configured(tmp_path, text)
    [found] = caught.value.problems
    assert found.message == message
    assert fix is None or found.fix == fix


def test_an_agent_may_say_that_it_is_not_to_be_asked_twice() -> None:
    head = "agents: {w: {kind: command, argv: [w], repeatable: false}, p: {kind: python, callable: 'm:f', repeatable: true}}\n"

    assert load(node("{agent: w, prompt: x}", head=head)).agents == [
        CommandAgent(name="w", argv=["w"], repeatable=False),
        PythonAgent(name="p", callable="m:f"),
    ]


REGISTERED = """
import sys
from pathlib import Path

from hooks.definition.load import load_workflow
from hooks.errors import DefinitionError

try:
    workflow = load_workflow(Path("w.yaml"), text=sys.stdin.buffer.read())
except DefinitionError as error:
    print(error)
else:
    print(workflow.agents, workflow.executors, [node.executor for node in workflow.nodes if node.id == "e"])
"""


def loaded_with_distribution(tmp_path: Path, text: str) -> str:
    """What loading `text` says where a distribution registers the executor `parcel` and the agent kind `oracle`."""
    metadata = tmp_path / "parcel-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: parcel\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[hooks.executors]\nparcel = parcel:Parcel\n[hooks.agents]\noracle = parcel:make\n"
    )
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{REGISTERED}"
    return subprocess.run(
        [sys.executable, "-c", program], input=text, text=True, stdout=subprocess.PIPE, check=True
    ).stdout


def test_what_another_distribution_registers_is_known_by_its_name(tmp_path: Path) -> None:
    text = """\
workflow_id: w
agents: {o: {kind: oracle, timeoutMs: 5, repeatable: false, model_options: [mood], incense: {kind: myrrh}}}
nodes:
  a: {agent: o, prompt: x, model_options: {mood: dark}}
  e: {executor: parcel, input: {to: "${run.id}"}}
"""

    assert loaded_with_distribution(tmp_path, text) == (
        "[EntryPointAgent(name='o', entry_point='oracle', settings={'incense': {'kind': 'myrrh'}}, "
        "model_options=['mood'], timeout_ms=5, repeatable=False)] [] ['parcel']\n"
    )


def test_what_nobody_registers_is_told_with_what_is_registered(tmp_path: Path) -> None:
    text = """\
workflow_id: w
agents: {o: {kind: oracel}}
nodes:
  e: {executor: parcle, input: {}}
"""

    assert loaded_with_distribution(tmp_path, text) == (
        "w.yaml:2:20: the agent `o`: `kind` must be one of `command`, `openai`, `oracle`, `python`, but is the text 'oracel'\n"
        "    fix: did you mean `oracle`?\n"
        "w.yaml:4:17: `e` calls the executor `parcle`, which is not declared\n"
        "    fix: did you mean `parcel`? Otherwise declare it as `executors.parcle` in .hooks/config.yaml\n"
    )


def test_names_that_are_known_cost_no_look_at_other_distributions() -> None:
    code = (
        "import sys; from pathlib import Path; from hooks.definition.load import load_workflow;"
        "load_workflow(Path('w.yaml'), text=b'workflow_id: w\\nnodes: {a: {executor: shell, input: {argv: [x]}}}');"
        "print('importlib.metadata' in sys.modules)"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
