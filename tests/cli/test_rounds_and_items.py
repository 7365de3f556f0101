"""Loops and fan-outs in what is shown, and how a place in them is named."""

from __future__ import annotations

import json

from tests.cli.command import CommandLine
from tests.cli.workflows import PAGES, REVIEW


def in_second_round(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("review.yaml", REVIEW), "--run-id", "r", "-q")
    cli.hooks("reject", "r", "--comment", "again")
    assert cli.hooks("recover", "r", "-q").code == 4


def test_a_loop_is_shown_with_the_nodes_of_its_last_round(cli: CommandLine) -> None:
    in_second_round(cli)

    nodes, page = cli.hooks("show", "r", "--json").document["nodes"], cli.hooks("show", "r").out

    loop = nodes["rounds"]
    assert (list(nodes), loop["type"], loop["status"], loop["round"]) == (["rounds"], "loop", "waiting", 2)
    assert {name: (node["name"], node["status"]) for name, node in loop["body"].items()} == {
        "draft": ("rounds.2/draft", "succeeded"),
        "note": ("rounds.2/note", "succeeded"),
        "ok": ("rounds.2/ok", "waiting"),
    }
    assert [line.split()[0] for line in page.splitlines() if line.startswith("rounds")] == [
        "rounds",
        "rounds.2/draft",
        "rounds.2/note",
        "rounds.2/ok",
    ]


def test_a_node_in_several_rounds_needs_its_round(cli: CommandLine) -> None:
    in_second_round(cli)

    ambiguous = cli.hooks("show", "r", "--node", "draft")

    assert ambiguous.code == 7
    assert "rounds.1/draft, rounds.2/draft" in ambiguous.err
    assert cli.hooks("show", "r", "--node", "rounds.1/draft", "--field", "output").out == "after <>\n"
    assert cli.hooks("show", "r", "--node", "rounds.2/draft", "--field", "output").out == "after <again>\n"
    activity = "r::loop::rounds.1::work::draft"
    assert cli.hooks("logs", "r", activity).out == cli.hooks("logs", "r", "rounds.1/draft").out == "after <>"
    assert cli.hooks("logs", "r", "draft").code == 7


def test_every_round_is_shown_with_how_it_ended_also_one_that_the_state_has_let_go_of(cli: CommandLine) -> None:
    in_second_round(cli)
    for word, code in (("reject", 4), ("approve", 0)):
        assert cli.hooks(word, "r", "--by", "ann", "--comment", f"{word} it").code == 0
        assert cli.hooks("recover", "r", "-q").code == code

    loop, page = (
        cli.hooks("show", "r", "--node", "rounds", "--json").document,
        cli.hooks("show", "r", "--node", "rounds"),
    )
    first = cli.hooks("show", "r", "--node", "rounds.1/ok", "--json").document
    draft = cli.hooks("show", "r", "--node", "rounds.1/draft", "--json").document

    rounds = [(each["round"], each["outcome"], each["comment"]) for each in loop["rounds"]]
    assert rounds == [(1, "rejected", "again"), (2, "rejected", "reject it"), (3, "approved", "approve it")]
    rows = [line.split() for line in page.out.splitlines() if line.startswith(("1 ", "2 ", "3 "))]
    assert [(row[1], *row[3:]) for row in rows][1:] == [
        ("rejected", "ann", "reject", "it"),
        ("approved", "ann", "approve", "it"),
    ]
    assert (first["status"], first["answers"][0]["comment"], first["output"]["approved"]) == (
        "succeeded",
        "again",
        False,
    )
    assert (draft["output"], draft["attempts"], len(draft["history"])) == ("after <>", 1, 1)
    assert "rounds.1/ok, rounds.2/ok, rounds.3/ok" in cli.hooks("show", "r", "--node", "ok").err
    assert "rounds.4/ok of run r is in no round that has begun." in cli.hooks("show", "r", "--node", "rounds.4/ok").err


def test_events_name_their_round(cli: CommandLine) -> None:
    in_second_round(cli)

    def seen(node: str) -> list[str]:
        out = cli.hooks("tail", "r", "--no-follow", "--type", "nodeSucceeded", "--node", node).out
        return [line.split()[3] for line in out.splitlines()]

    assert seen("draft") == ["rounds.1/draft", "rounds.2/draft"]
    assert seen("rounds.2/draft") == ["rounds.2/draft"]


def test_a_fan_out_is_shown_with_its_items(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("pages.yaml", PAGES), "--run-id", "r", "-q")

    node = cli.hooks("show", "r", "--json").document["nodes"]["read"]

    assert [(item["index"], item["status"]) for item in node["items"]] == [(n, "succeeded") for n in range(3)]
    assert "3/3 items" in cli.hooks("show", "r").out
    assert [value["stdout"] for value in json.loads(cli.hooks("show", "r", "--field", "nodes.read.output").out)] == [
        "one\n",
        "two\n",
        "three\n",
    ]
    assert cli.hooks("show", "r", "--field", "nodes.read.output.1.stdout").out == "two\n"


def test_an_item_is_named_by_its_place_in_the_list(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("pages.yaml", PAGES), "--run-id", "r", "-q")

    assert cli.hooks("logs", "r", "read[1]").out == "two\n"
    ambiguous = cli.hooks("logs", "r", "read")
    assert ambiguous.code == 7
    assert "read[0], read[1], read[2]" in ambiguous.err


def test_the_item_that_failed_is_named(cli: CommandLine) -> None:
    ended = cli.hooks("run", cli.write("pages.yaml", PAGES), "-p", 'pages=["good","bad"]', "--run-id", "r", "-q")

    assert ended.code == 1
    assert "  read[1]: ExitStatus" in ended.err
    assert "hooks logs r 'read[1]' --stderr" in ended.err


def test_an_item_that_failed_has_an_end(cli: CommandLine) -> None:
    cli.hooks("run", cli.write("pages.yaml", PAGES), "-p", 'pages=["good","bad"]', "--run-id", "r", "-q")

    items = cli.hooks("show", "r", "--json").document["nodes"]["read"]["items"]
    page = cli.hooks("show", "r", "--node", "read[1]").out

    assert items[1]["status"] == "failed"
    assert items[1]["ended_at"] >= items[1]["started_at"]
    assert f"Ended        {items[1]['ended_at']}\nTook " in page


def test_one_item_of_a_fan_out_is_shown_by_itself(cli: CommandLine) -> None:
    cli.write("pages.yaml", PAGES)
    assert cli.hooks("run", "pages.yaml", "--run-id", "r", "-q").code == 0

    shown = cli.hooks("show", "r", "--node", "read[1]", "--json").document

    assert (shown["node"], shown["status"], shown["attempts"], shown["items"]) == ("read[1]", "succeeded", 1, None)
    assert shown["output"]["stdout"] == "two\n"
    assert cli.hooks("show", "r", "--node", "read[3]").code == 7
