"""resolve: a person settles an effect in doubt."""

from __future__ import annotations

import pytest

from tests.cli.command import CommandLine

RUN = "r"


@pytest.fixture
def doubtful(cli: CommandLine) -> CommandLine:
    """A run whose one effect nobody has seen end."""
    with cli.under_way(cli.blocking(read_only=False), "--run-id", RUN) as run:
        run.kill_driver()
        run.kill_step()
    assert cli.hooks("recover", RUN, "-q").code == 10
    return cli


def test_whoever_has_to_settle_it_is_shown_what_is_known(doubtful: CommandLine) -> None:
    shown = doubtful.hooks("show", RUN, "--node", "step", "--json").document
    page = doubtful.hooks("show", RUN, "--node", "step").out

    (doubt,) = shown["doubts"]
    assert (doubt["place"], doubt["reason"], shown["error"]["errorCode"]) == ("step", "NoReconciler", "OutcomeUnknown")
    assert "read line" in doubt["input"]["script"]
    assert doubt["idempotency_key"] in page
    assert doubt["stdout"] in page
    assert f"Stderr       {doubt['stderr']}\n" in page
    assert shown["next"] == [f"hooks resolve {RUN} step --{said}" for said in ("done", "retry", "failed")]


def test_an_effect_that_a_look_up_cannot_tell_of_yet_is_shown_with_when_it_was_asked(cli: CommandLine) -> None:
    file = cli.directory / cli.blocking(read_only=False)
    file.write_text(file.read_text().replace("input: {", 'input: {lookup: [sh, -c, "exit 75"], '))
    with cli.under_way(file.name, "--run-id", RUN) as run:
        run.kill_driver()
        run.kill_step()
    before = cli.hooks("show", RUN, "--node", "step", "--json").document
    told = cli.hooks("tick", RUN)
    after, page = (
        cli.hooks("show", RUN, "--node", "step", "--json").document,
        cli.hooks("show", RUN, "--node", "step").out,
    )

    assert told.code == 8
    assert "step: The look-up ended with exit code 75; asked again in 1s. `hooks resolve`" in told.err
    assert [each["looked_up_at"] for each in before["unsettled"]] == [None]
    (unsettled,) = after["unsettled"]
    assert f"Asked last   {unsettled['looked_up_at']}\n" in page
    assert f"Answer in    {unsettled['look_up']}\n" in page
    assert "Asked again  while the run is driven: after 1s" in page
    resolutions = [f"hooks resolve {RUN} step --{said}" for said in ("done", "retry", "failed")]
    assert after["next"] == [f"hooks recover {RUN}", *resolutions]


def test_done_with_an_output_lets_the_run_go_on_without_doing_it_again(doubtful: CommandLine) -> None:
    output = '{"stdout": "done", "exit_code": 0}'

    resolved = doubtful.hooks("resolve", RUN, "step", "--done", "--output", output, "--reason", "saw it", "--by", "ann")

    assert (resolved.code, resolved.err) == (0, f"step counts as done.\n    hooks recover {RUN}\n")
    assert doubtful.hooks("recover", RUN, "-q").code == 0
    assert doubtful.hooks("show", RUN, "--field", "output.step.stdout").out == "done\n"
    said = [line["payload"] for line in doubtful.log_lines(RUN) if line["type"] == "reconcileResult"][-1]
    assert (said["by"], said["reason"], said["outcome"]) == ("ann", "saw it", "done")
    (attempt,) = doubtful.hooks("show", RUN, "--node", "step", "--json").document["history"]
    assert (attempt["effect"]["settled_by"], attempt["effect"]["reason"]) == ("ann", "saw it")
    assert "Effect       done (settled by ann: saw it), by shell" in doubtful.hooks("show", RUN, "--node", "step").out


def test_failed_fails_the_step(doubtful: CommandLine) -> None:
    resolved = doubtful.hooks("resolve", RUN, "step", "--failed", "-q")
    assert (resolved.code, resolved.err) == (0, "")
    assert doubtful.hooks("recover", RUN, "-q").code == 1


@pytest.mark.parametrize("words", [["--retry"], ["--retry", "--new-key"]])
def test_retry_does_it_again(doubtful: CommandLine, words: list[str]) -> None:
    assert doubtful.hooks("resolve", RUN, "step", *words).code == 0

    recovery = doubtful.start("recover", RUN, "-q")
    doubtful.wait_for_step()
    doubtful.let_go()
    recovery.communicate(timeout=60)

    assert recovery.returncode == 0
    keys = [line["payload"]["idempotencyKey"] for line in doubtful.log_lines(RUN) if line["type"] == "effectAttempted"]
    assert len(keys) == 2
    assert (keys[0] == keys[1]) == ("--new-key" not in words)


def test_a_second_resolution_is_told_that_nothing_is_in_doubt(doubtful: CommandLine) -> None:
    assert doubtful.hooks("resolve", RUN, "step", "--failed", "--json").document["resolution"] == "failed"

    late = doubtful.hooks("resolve", RUN, "step", "--done")

    assert late.code == 7
    assert "No effect of step is in doubt" in late.err
    assert doubtful.hooks("resolve", RUN, "setp", "--done").code == 7


def test_a_run_in_doubt_is_not_retried(doubtful: CommandLine) -> None:
    doubtful.hooks("cancel", RUN)

    assert doubtful.hooks("retry", RUN).code == 10
    assert doubtful.hooks("resolve", RUN, "step", "--failed").code == 0
    assert doubtful.hooks("show", RUN, "--field", "in_doubt").out == "[]\n"
