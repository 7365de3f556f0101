# ruff: noqa: E501  (a row of a table is one line)
"""`requirements` of an agent step: what they become, and each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks.definition.config import Config
from hooks.definition.given_sampling import requirement_problem
from hooks.definition.load import load_workflow
from hooks.definition.model import CommandAgent, Judge, Requirement, SubagentNode, workflow_from_json, workflow_to_json
from hooks.definition.requirement_values import requirement_from_json, requirement_to_json
from hooks.errors import DefinitionError, Place, Problem
from tests.definition.builders import HEAD, load, problem, problems

AGENTS = """agents:
  w: {kind: command, argv: [w]}
  critic: {kind: command, argv: [w]}
  once: {kind: command, argv: [w], repeatable: false}
"""


def step(*requirements: str, more: str = "") -> str:
    """A workflow whose step `b`, after `a`, has these requirements; the first stands in line 13, from column 9."""
    items = "".join(f"      - {requirement}\n" for requirement in requirements)
    return (
        f"{HEAD}{AGENTS}nodes:\n  a: {{executor: shell, input: {{argv: [x]}}}}\n  b:\n    agent: w\n"
        f"    prompt: x\n    depends: [a]\n    requirements:\n{items}{more}"
    )


def read(*requirements: str) -> list[Requirement]:
    node = load(step(*requirements)).nodes[1]
    assert isinstance(node, SubagentNode)
    return node.requirements


@pytest.mark.parametrize(
    ("written", "requirement"),
    [
        ("{name: short, check: 'size(output.title) <= 60', reason: Too long., weight: 2}", Requirement(name="short", check="size(output.title) <= 60", reason="Too long.", weight=2.0)),
        ("{check: 'output.items.all(x, has(x.a))'}", Requirement(name="check-1", check="output.items.all(x, has(x.a))")),
        ("{schema: {type: object}}", Requirement(name="schema-1", schema={"type": "object"})),
        ("{schema: false}", Requirement(name="schema-1", schema=False)),
        ("{regex: '^[^$]{3}'}", Requirement(name="regex-1", regex="^[^$]{3}")),
        ("{command: [./check, '${a.output.stdout}', 5]}", Requirement(name="command-1", command=["./check", "${a.output.stdout}", "5"])),
        ("{python: 'checks.py:short'}", Requirement(name="python-1", python="checks.py:short")),
        ("{judge: {agent: critic, prompt: 'As ${a.output.stdout}?'}}", Requirement(name="judge-1", judge=Judge(agent="critic", prompt="As ${a.output.stdout}?"))),
        ("{judge: {bot: critic, prompt: Good?, threshold: 0.75}, x-note: hi}", Requirement(name="judge-1", judge=Judge(agent="critic", prompt="Good?", threshold=0.75))),
    ],
)  # fmt: skip
def test_each_kind_of_requirement_and_its_json(written: str, requirement: Requirement) -> None:
    assert read(written) == [requirement]
    value = requirement_to_json(requirement)
    assert len(value) == 5
    assert requirement_from_json(value) == requirement
    assert requirement_problem(value, ["critic"]) is None


def test_requirements_survive_workflow_json() -> None:
    workflow = load(step("{check: 'true'}", "{judge: {agent: critic, prompt: x}}"))

    assert workflow_from_json(workflow_to_json(workflow)) == workflow


def test_a_name_that_is_left_out_is_made_up_and_taken_by_nobody_else() -> None:
    assert [requirement.name for requirement in read("{check: 'true'}", "{name: check-1, regex: x}", "{regex: y}")] == [
        "check-1-2",
        "check-1",
        "regex-3",
    ]


@pytest.mark.parametrize(
    ("written", "column", "message", "fix"),
    [
        ("{check: 'size(outptu) > 1'}", 23, "`check`: there is no `outptu` here", "did you mean `output`?"),
        ("{check: 'siz(output) > 1'}", 18, "`check`: there is no function `siz`", "did you mean `size`?"),
        ("{check: 'output == params.x'}", 28, "`check`: there is no `params` here", "it sees the answer alone, as `output`: `output.title`"),
        ("{check: 'nodes[\"a\"].output == output'}", 18, "`check`: there is no `nodes` here", "it sees the answer alone, as `output`: `output.title`"),
        ("{check: 'size(${output}) > 1'}", 23, "`check`: `${…}` does not belong into CEL", "name the answer itself: `size(output.title) <= 60`"),
        ("{check: 'output >'}", 26, "`check`: mismatched input '<EOF>'", "write CEL, such as `size(output.title) <= 60`"),
        ("{check: [x]}", 17, "`check` must be CEL, but is a list", "write it like `size(output.title) <= 60`"),
        ("{regex: '^a(b'}", 20, "`regex`: missing ), unterminated subpattern", "correct the regular expression (Python's `re`)"),
        ("{schema: {properties: {a: {type: objec}}}}", 42, "`schema` is no JSON Schema: \"objec\" is not valid under any of the schemas listed in the 'anyOf' keyword", "correct the schema (JSON Schema 2020-12)"),
        ("{schema: object}", 18, "`schema` must be a JSON Schema, but is the text 'object'", "write {type: object, …}"),
        ("{command: ./check}", 19, "`command` must be a list of texts, but is the text './check'", "write it as [a, b]"),
        ("{command: ['']}", 20, "`command[0]` is blank", "write the program: command: [./check.sh]"),
        ("{command: [a, \"x\\0y\"]}", 23, "`command[1]` holds a NUL character, which no argument can", "remove it"),
        ("{command: [sh, -c, 'echo ${a.output}']}", 28, "a reference in the text of a shell script would be run as code", 'add it as an argument of its own after the script, and write "$1" in the script (the argument right after the script is "$0")'),
        ("{command: [a, '${c.output}']}", 24, "`${c.output}`: there is no node `c`", None),
        ("{python: checks}", 18, "`python` is 'checks'", "write `module:function` or `file.py:function`"),
        ("{judge: {agent: critc, prompt: x}}", 25, "the judge `critc` is not declared as an agent", "did you mean `critic`? Otherwise declare it under `agents` here or as `agents.critc` in .hooks/config.yaml"),
        ("{judge: {agent: once, prompt: x}}", 25, "the judge `once` is not repeatable, but a judge is asked about every draw, and again after a crash", "name another agent, or write `repeatable: true` for `once` if asking it again does no harm"),
        ("{judge: {agent: critic}}", 17, "`judge` has no `prompt`", "add `prompt:` with what to judge the answer by; the answer is shown below it"),
        ("{judge: {agent: critic, prompt: x, threshold: 1.5}}", 55, "`judge.threshold` is 1.5", "write a number from 0 to 1"),
        ("{judge: {agent: critic, prompt: '${b.output}'}}", 42, "the node `b` refers to itself", "refer to a node that it depends on"),
        ("{check: 'true', weight: 0}", 33, "`weight` is 0", "write a number above 0; a requirement counts, or is left out"),
        ("{check: 'true', weight: -1}", 33, "`weight` is -1", "write a number from 0 to 1e+06"),
        ("{check: 'true', regex: x}", 25, "`requirements[0]` has `check` and `regex`; it checks by exactly one", "make a requirement of each"),
        ("{name: n, reason: x}", 9, "the requirement `n` checks nothing", 'add one of `check`, `schema`, `regex`, `command`, `python`, `judge`, `kind`, such as check: "size(output.title) <= 60"'),
        ("{name: output_schema, regex: x}", 16, "the name `output_schema` is that of the requirement which `output_schema` of a step makes", "choose another name"),
        ("{name: \"a\\nb\", regex: x}", 16, r"'a\nb' is no name for a requirement", "use one line, at most 100 characters"),
        ("{regex: x, reason: 'not ${a.output}'}", 33, "references do not work in `reason` of a requirement", "write the value itself"),
        ("{regex: x, pattern: y}", 20, "`pattern` does not belong into `requirements[0]`", "the key of a requirement is `regex`"),
        ("{regex: x, weigth: 2}", 20, "unknown key `weigth` in `requirements[0]`", "did you mean `weight`?"),
        ("{kind: regex, pattern: y}", 16, "`regex` is no kind of requirement but a key", "write `regex: …` instead of `kind: regex`"),
        ("{kind: nobody, most: 5}", 16, "there is no kind of requirement `nobody`", "install the distribution that registers it under `hooks.requirements`; there is: none"),
        ("short", 9, "`requirements[0]` must be a mapping, but is the text 'short'", "its keys: `check`, `command`, `judge`, `kind`, `name`, `python`, `reason`, `regex`, `schema`, `weight`"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place_and_its_fix(
    written: str, column: int, message: str, fix: str | None
) -> None:
    found = problem(step(written))

    assert found.place == Place("w.yaml", 13, column)
    assert (found.message, found.fix) == (message, fix or found.fix)


def test_a_fault_within_a_block_of_cel_is_told_with_its_line() -> None:
    text = step("name: long", more="        check: >-\n          size(output) > 1 && size(outptu) < 3\n")

    assert problem(text).place == Place("w.yaml", 15, 36)


def test_a_second_requirement_of_a_name_is_refused() -> None:
    assert problem(step("{name: n, regex: x}", "{name: n, regex: y}")) == Problem(
        "duplicate requirement `n`; the first one is at w.yaml:13:16", Place("w.yaml", 14, 16), "rename one of the two"
    )


def test_requirements_are_a_list_of_an_agent_step() -> None:
    assert problem(step().rstrip() + " {regex: x}\n").message == "`requirements` must be a list, but is a mapping"
    call = f"{HEAD}nodes: {{a: {{executor: shell, input: {{argv: [x]}}, requirements: []}}}}\n"
    assert problem(call).fix == "it belongs to an agent step (`agent: …`); this is an executor call"


def test_all_mistakes_are_told_at_once() -> None:
    assert len(problems(step("{regex: '('}", "{check: x}", "{judge: {agent: v, prompt: '${z.output}'}}"))) == 4


def test_what_a_judge_and_a_command_read_must_be_upstream() -> None:
    text = step("{judge: {agent: critic, prompt: '${a.output}'}}", "{command: [x, '${a.output}']}")

    assert [found.message for found in problems(text.replace("    depends: [a]\n", ""))] == [
        "`b` reads from `a`, which it does not depend on"
    ] * 2


def test_a_judge_of_the_config_becomes_part_of_the_workflow() -> None:
    config = Config(agents={name: CommandAgent(name=name, argv=["x"]) for name in ("strict", "unused")})
    workflow = load(step("{judge: {agent: strict, prompt: x}}"), config=config)

    assert [agent.name for agent in workflow.agents] == ["w", "critic", "once", "strict"]


def test_programs_and_functions_are_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(step("{command: [./check.sh]}", "{python: 'checks.py:short'}", "{python: 'checks.py:long'}"))
    (tmp_path / "checks.py").write_text("def long(output): return True\n")

    with pytest.raises(DefinitionError) as raised:
        load_workflow(file, check_files=True)

    assert [found.message for found in raised.value.problems] == [
        f"there is no file {tmp_path / 'check.sh'}",
        f"{tmp_path / 'checks.py'} defines no `short`",
    ]


# ---- installed kinds -----------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "site" / "hooks_tests_names-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hooks_tests_names\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[hooks.requirements]\nwords = m:Words\n[hooks.strategies]\nodd = m:Odd\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


@pytest.mark.usefixtures("installed")
def test_an_installed_kind_takes_the_further_keys_as_its_settings() -> None:
    [requirement] = read("{kind: words, most: 5, list: [a], weight: 2, x-note: hi}")

    assert requirement == Requirement(name="kind-1", kind="words", settings={"most": 5, "list": ["a"]}, weight=2.0)
    value = requirement_to_json(requirement)
    assert value["settings"] == {"most": 5, "list": ["a"]}
    assert requirement_from_json(value) == requirement
    assert requirement_problem(value, []) is None
    assert problem(step("{kind: word, most: 5}")).fix == "did you mean `words`?"
    assert problem(step("{kind: words, most: '${a.output}'}")).message == (
        "references do not work in `most` of a requirement"
    )


@pytest.mark.usefixtures("installed")
def test_an_installed_strategy_is_known() -> None:
    node = load(step("{regex: x}", more="    sampling: {strategy: odd, loop_budget: 4, parallel: 2}\n")).nodes[1]

    assert isinstance(node, SubagentNode)
    assert node.sampling is not None
    assert node.sampling.strategy == "odd"
    assert problem(step("{regex: x}", more="    sampling: {strategy: oddd}\n")).fix == "did you mean `odd`?"


# ---- what hooks give -----------------------------------------------------------------------------------------------


def dumped(**given: Any) -> dict[str, Any]:
    """A requirement as a hook's payload dumps it: every key, null where it does not apply."""
    every = dict.fromkeys(("reason", "check", "schema", "regex", "command", "python", "judge"))
    return {"name": "r", "origin": "hook", "weight": 1.0, **every, **given}


def test_a_hooks_requirement_is_taken_with_all_keys_or_few() -> None:
    judge = {"agent": "critic", "prompt": "Is it ${kind}?", "threshold": 1}

    assert requirement_problem(dumped(judge=judge), ["critic"]) is None
    assert requirement_from_json(dumped(judge=judge)) == Requirement(
        name="r", origin="hook", judge=Judge(agent="critic", prompt="Is it ${kind}?", threshold=1.0)
    )
    assert requirement_from_json({"name": "r", "regex": "x"}) == Requirement(name="r", origin="hook", regex="x")
    assert requirement_problem(dumped(command=["sh", "-c", "echo ${HOME.x}"]), []) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dumped(check="outptu > 1"), "`check`: there is no `outptu` here (did you mean `output`?)"),
        (dumped(regex="("), "`regex`: missing ), unterminated subpattern"),
        (dumped(), "the requirement `r` checks nothing"),
        (dumped(regex="x", check="true"), "the requirement `r` has `check` and `regex`"),
        (dumped(judge={"agent": "critc", "prompt": "x"}), "the judge `critc` is not declared as an agent (did you mean `critic`?"),
        (dumped(schema={"type": "objec"}), "`schema` is no JSON Schema"),
        (dumped(schema={"const": 2**70}), "it is no JSON: $.schema.const: an integer of 71 bits"),
        (dumped(regex="x", weight=0), "`weight` is 0"),
        (dumped(regex="x", name="output_schema"), "the name `output_schema`"),
        (dumped(regex="x", name=None), "it has no `name`"),
        (dumped(regex="x", settings={"a": 1}), "`settings` must be a mapping, and goes with `kind`"),
        (dumped(python="nowhere.py:f"), "there is no file"),
        (dumped(regex=5), "Expected `str | null`, got `int` - at `$.regex`"),
        (dumped(regex="x", origin="\ud800"), "it is no JSON: $.origin: a lone surrogate"),
    ],
)  # fmt: skip
def test_what_could_not_stand_in_a_file_is_refused(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    problem = requirement_problem(given, ["critic"], tmp_path)

    assert problem is not None
    assert problem.startswith(said), problem
