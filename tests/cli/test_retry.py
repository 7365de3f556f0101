"""retry: what failed is tried again in the same run."""

from __future__ import annotations

from tests.cli.command import FAILING, CommandLine
from tests.cli.workflows import PAGES, STEP, TEN_STEPS


def ten_steps(cli: CommandLine) -> None:
    cli.write("ten.yaml", TEN_STEPS)
    (cli.directory / cli.write("step.sh", STEP)).chmod(0o755)
    assert cli.hooks("run", "ten.yaml", "--run-id", "r", "-q").code == 1


def calls(cli: CommandLine) -> list[str]:
    return sorted((cli.directory / "calls").read_text().split())


def test_exactly_the_failed_steps_run_again_and_the_others_keep_what_they_are(cli: CommandLine) -> None:
    """B05"""
    ten_steps(cli)
    before = cli.hooks("show", "r", "--json").document["nodes"]
    cli.write("fixed", "")
    cli.write("calls", "")

    ended = cli.hooks("retry", "r", "--json")

    assert ended.code == 0
    assert calls(cli) == ["s0", "s1", "s2"]
    after = cli.hooks("show", "r", "--json").document["nodes"]
    assert {name: after[name] for name in after if name not in calls(cli)} == {
        name: before[name] for name in before if name not in calls(cli)
    }
    assert {node["attempts"] for name, node in after.items() if name in calls(cli)} == {2}


def test_what_a_run_comes_to_is_printed_whichever_command_brings_it_there(cli: CommandLine) -> None:
    """As `run` does; of several runs nothing, since nobody could tell whose it is."""
    cli.write("twice.yaml", FAILING.replace("exit 3", "test -e fixed && echo right"))
    for run in ("a", "b"):
        assert cli.hooks("run", "twice.yaml", "--run-id", run, "-q").code == 1
    cli.write("fixed", "")

    retried = cli.hooks("retry", "a", "-q")
    recovered = cli.hooks("recover", "a", "-q")
    several = cli.hooks("recover", "a", "b", "-q")

    assert retried.document["bad"]["stdout"] == "right\n"
    assert recovered.document == retried.document
    assert (several.code, several.out) == (1, "")


def test_one_node_can_be_named(cli: CommandLine) -> None:
    ten_steps(cli)
    cli.write("fixed", "")
    cli.write("calls", "")

    assert cli.hooks("retry", "r", "s5").code == 7
    cli.hooks("retry", "r", "s1", "-q")

    assert calls(cli) == ["s1"]
    assert cli.hooks("show", "r", "--field", "nodes.s1.status").out == "succeeded\n"


def test_a_run_that_succeeded_or_goes_on_is_not_retried(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "good")

    assert cli.hooks("retry", "good").code == 2
    with cli.under_way(cli.blocking(), "--run-id", "busy"):
        assert cli.hooks("retry", "busy").code == 6


def test_of_a_fan_out_only_the_failed_items_run_again(cli: CommandLine) -> None:
    cli.write("pages.yaml", PAGES.replace("test $0 != bad", "echo $0 >> calls; test $0 != two || test -e fixed"))
    assert cli.hooks("run", "pages.yaml", "--run-id", "r", "-q").code == 1
    cli.write("fixed", "")
    cli.write("calls", "")

    assert cli.hooks("retry", "r", "-q").code == 0
    assert "two" in calls(cli)
    assert [item["stdout"] for item in cli.hooks("show", "r", "--json").document["output"]["read"]] == [
        "one\n",
        "two\n",
        "three\n",
    ]


def test_a_failed_item_stands_for_its_node(cli: CommandLine) -> None:
    cli.write("pages.yaml", PAGES.replace("test $0 != bad", "test $0 != two || test -e fixed"))
    assert cli.hooks("run", "pages.yaml", "--run-id", "r", "-q").code == 1
    cli.write("fixed", "")

    retried = cli.hooks("retry", "r", "read[1]", "-q")

    assert (retried.code, retried.run_id) == (0, "r")
    assert cli.hooks("show", "r", "--field", "nodes.read.status").out == "succeeded\n"
