"""`hooks rerun`: what is taken over, what is done again, and what is refused."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine

WORKFLOW = """\
workflow_id: notes
version: 1
params: {word: {type: string, default: hello}}
agents:
  echo: {kind: command, argv: [cat]}
  late: {kind: command, argv: [sh, -c, "echo asked >> asked; cat"]}
nodes:
  say: {agent: late, prompt: "${params.word}"}
  each:
    executor: shell
    read_only: true
    for_each: ["a", "b"]
    depends: [say]
    input: {argv: [sh, -c, 'echo "$0" >> each; echo "$0"', "${item}"]}
  never: {agent: echo, prompt: x, if: "false"}
  keep: {executor: file, depends: [each], input: {path: out.txt, mode: append, content: "${say.output}\\n"}}
  last: {agent: echo, depends: [keep, say], continue_from: say, prompt: "last: ${say.output} ${each.output[1].stdout}"}
"""


@pytest.fixture
def notes(cli: CommandLine) -> CommandLine:
    cli.write("notes.yaml", WORKFLOW)
    assert cli.hooks("run", "notes.yaml", "--run-id", "first", "-p", "word=hi", "-q").code == 0
    return cli


def lines(notes: CommandLine, name: str) -> list[str]:
    return (notes.directory / name).read_text().splitlines()


def types(notes: CommandLine, run: str) -> list[str]:
    document = notes.hooks("tail", run, "--no-follow", "--json").document
    return [event["type"] for event in document["events"]]


def test_results_are_taken_over_and_the_rest_is_done(notes: CommandLine) -> None:
    ended = notes.hooks("rerun", "first", "--from", "last", "--run-id", "second", "--json")

    assert ended.code == 0
    assert ended.document["output"] == notes.hooks("show", "first", "--json").document["output"]
    assert lines(notes, "asked") == ["asked"]
    assert sorted(lines(notes, "each")) == ["a", "b"]
    assert lines(notes, "out.txt") == ["hi"]
    assert types(notes, "second")[:6] == ["runCreated", *["nodeImported"] * 4, "runStarted"]
    assert notes.hooks("verify", "first", "second").code == 0
    assert notes.hooks("replay", "second").code == 0


def test_what_would_repeat_an_effect_is_refused_with_the_list(notes: CommandLine) -> None:
    (log,) = notes.directory.rglob("first/events.jsonl")
    before = log.read_bytes()

    refused = notes.hooks("rerun", "first", "--from", "each")
    repeated = notes.hooks("rerun", "first", "--from", "each", "--repeat-effects", "-q")

    assert refused.code == 2
    assert "That would repeat what run first has done, or may have: keep (done)." in refused.err
    assert "fix: Begin with a later node, or say --repeat-effects." in refused.err
    assert repeated.code == 0
    assert lines(notes, "out.txt") == ["hi", "hi"]
    assert lines(notes, "asked") == ["asked"]
    assert log.read_bytes() == before


def test_a_changed_prompt_takes_effect_from_its_node_on(notes: CommandLine) -> None:
    notes.write("changed.yaml", WORKFLOW.replace('"last: ', '"LAST: '))

    ended = notes.hooks("rerun", "first", "--from", "last", "--workflow", "changed.yaml", "--json")

    assert ended.code == 0
    assert "LAST: hi" in ended.document["output"]["last"]


def test_a_node_that_was_added_is_done_though_nothing_before_it_is(notes: CommandLine) -> None:
    notes.write("more.yaml", WORKFLOW + '  extra: {agent: echo, depends: [say], prompt: "extra ${say.output}"}\n')

    ended = notes.hooks("rerun", "first", "--from", "last", "--workflow", "more.yaml", "--json")

    assert ended.code == 0
    assert ended.document["output"]["extra"] == "extra hi"
    assert lines(notes, "asked") == ["asked"]


def test_a_node_that_is_not_there_is_said_with_those_that_are(notes: CommandLine) -> None:
    ended = notes.hooks("rerun", "first", "--from", "lsat")

    assert ended.code == 7
    assert "has no node 'lsat'" in ended.err
    assert "say, each, never, keep, last" in ended.err


def test_a_conversation_is_taken_over_with_its_node(notes: CommandLine) -> None:
    """`last` goes on with what `say` was asked and said, in the new run as in the old."""
    before = notes.hooks("run", "notes.yaml", "--run-id", "again", "-p", "word=hi", "--json").document["output"]
    after = notes.hooks("rerun", "again", "--from", "last", "--json").document["output"]

    assert before["last"] == after["last"]
    assert "hi" in after["last"].split("last: ")[0]


def test_an_effect_that_an_earlier_run_has_done_is_still_refused_in_a_rerun_of_a_rerun(notes: CommandLine) -> None:
    assert notes.hooks("rerun", "first", "--from", "last", "--run-id", "second", "-q").code == 0
    assert notes.hooks("rerun", "second", "--from", "last", "--run-id", "third", "-q").code == 0

    refused = notes.hooks("rerun", "third", "--from", "each")

    assert refused.code == 2
    assert "That would repeat what run third has done, or may have: keep (done before, and taken over)." in refused.err
    assert lines(notes, "out.txt") == ["hi"]
    assert notes.hooks("rerun", "third", "--from", "each", "--repeat-effects", "-q").code == 0
    assert lines(notes, "out.txt") == ["hi", "hi"]


def test_a_run_that_is_there_is_not_taken_for_the_rerun_that_is_asked_for(notes: CommandLine) -> None:
    """B16: the same rerun again is the one that is there; of another run, or from another node, it is refused."""
    assert notes.hooks("rerun", "first", "--from", "last", "--run-id", "second", "-q").code == 0

    again = notes.hooks("rerun", "first", "--from", "last", "--run-id", "second", "-q")
    into_itself = notes.hooks("rerun", "first", "--from", "last", "--run-id", "first", "-q")
    from_elsewhere = notes.hooks("rerun", "first", "--from", "never", "--run-id", "second", "-q")

    assert again.code == 0
    assert (into_itself.code, from_elsewhere.code) == (2, 2)
    assert "what it is a rerun of." in into_itself.err
    assert "Run second exists and differs in what it is a rerun of." in from_elsewhere.err


def test_hooks_that_the_run_was_given_by_flag_go_with_the_rerun(notes: CommandLine) -> None:
    """No file says that they are gone; whoever made the run wanted them asked."""
    notes.write("guard.yaml", "- {name: guard, on: component_pre_execute, match: {node: last}, argv: ['true']}\n")
    assert notes.hooks("run", "notes.yaml", "--run-id", "guarded", "--hooks", "guard.yaml", "-q").code == 0
    notes.write(
        "guard.yaml", "- {name: guard, on: component_pre_execute, match: {node: last}, argv: [sh, -c, 'exit 2']}\n"
    )

    assert notes.hooks("rerun", "guarded", "--from", "last", "--run-id", "again", "-q").code == 0
    listed = notes.hooks("policy", "list", "--run", "again", "--json").document

    assert [hook["name"] for point in listed["points"] for hook in point["hooks"]] == ["guard"]


REVIEWED = """\
workflow_id: reviewed
version: 1
agents: {echo: {kind: command, argv: [cat]}}
nodes:
  sum: {agent: echo, prompt: "sum"}
  rounds: {body: [draft, ok], max_iterations: 2, depends: [sum], terminate: {node: ok, via: human_gate}}
  draft: {agent: echo, prompt: "draft"}
  ok: {type: decision, depends: [draft], human_gate: {prompt: "Good?"}}
  send: {agent: echo, depends: [rounds], prompt: "send"}
"""


@pytest.fixture
def reviewed(cli: CommandLine) -> CommandLine:
    """A run with a loop that was approved in its first round."""
    cli.write("reviewed.yaml", REVIEWED)
    assert cli.hooks("run", "reviewed.yaml", "--run-id", "first", "-q").code == 4
    assert cli.hooks("approve", "first").code == 0
    assert cli.hooks("recover", "first", "-q").code == 0
    return cli


def test_a_result_that_is_declared_otherwise_now_is_said_to_be_taken_over_all_the_same(reviewed: CommandLine) -> None:
    changed = REVIEWED.replace('prompt: "sum"', 'prompt: "SUM"').replace('prompt: "draft"', 'prompt: "DRAFT"')
    reviewed.write("changed.yaml", changed)
    reviewed.write("slower.yaml", REVIEWED.replace('prompt: "draft"', 'prompt: "draft", timeout: 1h'))

    ended = reviewed.hooks("rerun", "first", "--from", "send", "--workflow", "changed.yaml", "--json")
    same = reviewed.hooks("rerun", "first", "--from", "send", "--workflow", "slower.yaml")

    assert ended.err.splitlines()[1:] == [
        f"warning: {node} is declared otherwise now ({field}); its result is taken over all the same. "
        f"Begin with it to do it again: --from {node}"
        for node, field in (("sum", "prompt"), ("rounds", "draft.prompt"))
    ]
    assert ended.document["taken_over"] == [
        {"node": "sum", "changed": ["prompt"]},
        {"node": "rounds", "changed": ["draft.prompt"]},
    ]
    assert "warning" not in same.err


def test_where_a_rerun_comes_from_is_shown_and_what_it_has_taken_over(reviewed: CommandLine) -> None:
    assert reviewed.hooks("rerun", "first", "--from", "send", "--run-id", "second", "-q").code == 0

    document = reviewed.hooks("show", "second", "--json").document
    page, of_node = reviewed.hooks("show", "second").out, reviewed.hooks("show", "second", "--node", "sum").out
    rows = {words[0]: words[1:] for words in map(str.split, page.splitlines()) if words}

    assert document["rerun_of"] == {"run_id": "first", "from": "send"}
    assert [(node["status"], node["taken_over"]) for node in document["nodes"].values()] == [
        ("succeeded", True),
        ("succeeded", True),
        ("succeeded", False),
    ]
    assert "Rerun of     first, from send\n" in page
    assert rows["sum"] == ["succeeded", "taken", "over", "-", "echo"]
    assert rows["rounds"][:4] == ["succeeded", "taken", "over", "-"]
    assert "Taken over   first\n" in of_node
    assert "Took" not in of_node
    assert "a rerun of first from send" in reviewed.hooks("tail", "second", "--no-follow").out


@pytest.mark.parametrize("place", ["rounds.1/ok", "ok"])
def test_a_round_of_a_loop_that_was_taken_over_is_said_to_be_where_it_was_made(
    reviewed: CommandLine, place: str
) -> None:
    assert reviewed.hooks("rerun", "first", "--from", "send", "--run-id", "second", "-q").code == 0

    shown = reviewed.hooks("show", "second", "--node", place)

    assert shown.code == 7
    assert "rounds of run second was taken over from run first; its rounds are there." in shown.err
    assert f"`hooks show first --node {place}`" in shown.err
    assert reviewed.hooks("show", "first", "--node", place).code == 0


def test_what_is_in_doubt_is_to_be_settled_before_a_rerun_since_no_node_is_later(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking(read_only=False), "--run-id", "r") as run:
        run.kill_driver()
        run.kill_step()
    assert cli.hooks("recover", "r", "-q").code == 10

    refused = cli.hooks("rerun", "r", "--from", "step")

    assert refused.code == 2
    assert "or may have: step (in doubt)." in refused.err
    assert "fix: Settle it first (`hooks resolve r step`), or say --repeat-effects." in refused.err
