# ruff: noqa: E501  (a row of a table is one line)
"""Evaluating requirements of every kind with real processes, files and functions."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.model import Requirement
from hooks.runtime.check_processes import CheckContext
from hooks.runtime.requirements import evaluate
from hooks.sampling.answers import Answer
from hooks.sampling.verdicts import CannotEvaluateError, RawVerdict
from hooks.secrets import Masker
from tests.processes.builders import alive, until
from tests.sampling.test_effort import DEEP, TWICE

ANSWER = Answer('{"title": "x"}', {"title": "x"})
SAYS = "import asyncio, time\nfrom pathlib import Path\n"


def context(tmp_path: Path) -> CheckContext:
    return CheckContext(
        directory=tmp_path / "check",
        working_directory=tmp_path,
        workflow_directory=tmp_path,
        marker=f"test-{uuid.uuid4().hex}",
        grace_ms=2_000,
    )


def verdict(ctx: CheckContext, answer: Answer = ANSWER, **check: Any) -> RawVerdict:
    return asyncio.run(evaluate(Requirement(name="r", **check), answer, ctx))


def error(ctx: CheckContext, answer: Answer = ANSWER, **check: Any) -> CannotEvaluateError:
    with pytest.raises(CannotEvaluateError) as raised:
        verdict(ctx, answer, **check)
    assert str(raised.value).startswith("The requirement 'r' cannot be evaluated: ")
    return raised.value


def python(tmp_path: Path, body: str) -> str:
    (tmp_path / "checks.py").write_text(f"{SAYS}{body}\n")
    return "checks.py:check"


# ---- commands ------------------------------------------------------------------------------------------------------


def test_a_command_gets_the_text_or_the_json_of_the_value_on_stdin(tmp_path: Path) -> None:
    ctx = context(tmp_path)

    assert verdict(ctx, command=["sh", "-c", 'test "$(cat)" = \'{"title":"x"}\'']) == RawVerdict(True)
    assert verdict(ctx, Answer("a\nb"), command=["sh", "-c", 'test "$(cat)" = "a\nb"']) == RawVerdict(True)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo too long; echo noise >&2; exit 1", "too long"),
        ("echo on stderr >&2; exit 1", "on stderr"),
        ("exit 1", "`sh` ended with exit code 1 and said nothing"),
    ],
)
def test_exit_1_fails_with_what_was_printed(tmp_path: Path, script: str, reason: str) -> None:
    assert verdict(context(tmp_path), command=["sh", "-c", script]) == RawVerdict(False, reason=reason)
    assert verdict(context(tmp_path), command=["sh", "-c", script], reason="Own.") == RawVerdict(False, reason="Own.")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo oh >&2; exit 2", "`sh` ended with exit code 2 (0 passes, 1 fails); it said: oh"),
        ("kill -9 $$", "`sh` was ended by signal 9"),
    ],
)
def test_any_other_end_of_a_command_is_an_error(tmp_path: Path, script: str, said: str) -> None:
    assert said in str(error(context(tmp_path), command=["sh", "-c", script]))


def test_a_command_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    assert "nowhere" in str(error(context(tmp_path), command=["./nowhere"]))


def test_a_relative_program_is_found_from_the_workflows_directory(tmp_path: Path) -> None:
    (tmp_path / "flow").mkdir()
    script = tmp_path / "flow" / "check.sh"
    script.write_text('#!/bin/sh\ntest "$HOOKS_WORKFLOW_DIRECTORY/check.sh" = "$0" && test "$1" = 7 && test "$A" = b\n')
    script.chmod(0o755)
    ctx = replace(context(tmp_path), workflow_directory=tmp_path / "flow", environment={"A": "b"})

    assert verdict(ctx, command=["./check.sh", "7"]) == RawVerdict(True)


def test_a_command_sees_no_hidden_variable_and_its_words_are_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret-value")
    ctx = replace(context(tmp_path), masker=Masker({"TOKEN": "s3cret-value"}))
    told = ["sh", "-c", "echo ${TOKEN:-nothing}; exit 1"]

    assert verdict(ctx, command=told).reason == "[secret TOKEN]"
    assert verdict(replace(ctx, hidden=frozenset({"TOKEN"})), command=told).reason == "nothing"


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    ctx = replace(context(tmp_path), seconds=0.3)

    assert "`sh` took longer than 0.3 s and was ended" in str(error(ctx, command=["sh", "-c", "sleep 99 & sleep 99"]))
    assert alive(ctx.marker) == []


def test_a_cancelled_command_is_gone(tmp_path: Path) -> None:
    ctx = context(tmp_path)

    async def cancel() -> None:
        requirement = Requirement(name="r", command=["sh", "-c", "touch ready; sleep 99"])
        checking = asyncio.create_task(evaluate(requirement, ANSWER, ctx))
        await until((tmp_path / "ready").exists)
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking

    asyncio.run(cancel())
    assert alive(ctx.marker) == []


# ---- checks that need nothing but the answer ----------------------------------------------------------------------


def test_what_takes_no_time_starts_no_process(tmp_path: Path) -> None:
    ctx = context(tmp_path)

    assert verdict(ctx, check="output.title == 'x'") == RawVerdict(True)
    assert verdict(ctx, regex="title") == RawVerdict(True)
    assert verdict(ctx, schema={"required": ["body"]}).reason == 'at the top: "body" is a required property'
    assert not ctx.directory.exists()


def test_what_may_take_long_says_the_same_from_its_own_process(tmp_path: Path) -> None:
    ctx, text = replace(context(tmp_path), pure_seconds=60), Answer("x" * 100)

    assert verdict(ctx, text, regex="(?i)^(X|y)+$") == RawVerdict(True)
    assert verdict(ctx, text, regex="(?i)^(y)+$").reason == "the answer does not match '(?i)^(y)+$'"
    assert "unterminated" in str(error(ctx, text, regex="(?i)("))
    pairs = Answer("", list(range(100)))
    twice = "output.all(x, output.exists(y, x == y && output.all(z, z >= 0)))"
    assert verdict(ctx, pairs, check=twice) == RawVerdict(True)
    assert (ctx.directory / "exit.json").exists()


def test_what_takes_all_memory_there_is_takes_down_its_own_process_alone(tmp_path: Path) -> None:
    ctx = replace(context(tmp_path), pure_seconds=60)

    assert "and gave no verdict; let its schema refer to itself in one place" in str(error(ctx, DEEP, schema=TWICE))


@pytest.mark.parametrize(
    ("check", "answer", "mend"),
    [
        ({"regex": "^(a+)+$"}, Answer("a" * 40 + "b"), "a repeat within a repeat"),
        (
            {"check": "output.all(x, output.all(y, output.all(z, x + y + z >= 0)))"},
            Answer("", list(range(2_000))),
            "or write it as `python`",
        ),
    ],
)
def test_what_runs_away_is_ended_and_the_loop_goes_on_meanwhile(
    tmp_path: Path, check: dict[str, Any], answer: Answer, mend: str
) -> None:
    ctx = replace(context(tmp_path), pure_seconds=1)
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    async def both() -> None:
        watching = asyncio.create_task(watch())
        try:
            await evaluate(Requirement(name="r", **check), answer, ctx)
        finally:
            watching.cancel()

    with pytest.raises(CannotEvaluateError, match="it took longer than 1 s and was ended") as raised:
        asyncio.run(both())
    assert mend in str(raised.value)
    assert longest < 0.9
    assert alive(ctx.marker) == []


# ---- functions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def check(output): return output['title'] == 'x'", RawVerdict(True)),
        ("def check(output, text): return text == '{\"title\": \"x\"}'", RawVerdict(True)),
        ("def check(output, strict=True): return strict is True", RawVerdict(True)),
        ("def check(output): return False, 'too short'", RawVerdict(False, None, "too short")),
        ("def check(output): return False", RawVerdict(False, None, "`checks.py:check` says no")),
        ("def check(output): return {'passed': False, 'score': 0.25}", RawVerdict(False, 0.25, "`checks.py:check` says no")),
        ("def check(output): return {'passed': True, 'score': 1, 'reason': 'fine'}", RawVerdict(True, 1.0, "fine")),
        ("async def check(output):\n    await asyncio.sleep(0)\n    return True", RawVerdict(True)),
    ],
)  # fmt: skip
def test_a_function_says_it_in_each_form(tmp_path: Path, body: str, expected: RawVerdict) -> None:
    assert verdict(context(tmp_path), python=python(tmp_path, body)) == expected


def test_a_function_cannot_change_the_answer(tmp_path: Path) -> None:
    value = {"title": "x"}
    verdict(
        context(tmp_path), Answer("", value), python=python(tmp_path, "def check(o):\n    o.clear()\n    return True")
    )

    assert value == {"title": "x"}


@pytest.mark.parametrize(
    ("body", "said", "trace"),
    [
        ("def check(output): return output['body']", "it raised KeyError: 'body'", "checks.py"),
        ("def check(output): raise TimeoutError('mine')", "it raised TimeoutError: mine", "checks.py"),
        ("def check(output): raise SystemExit(3)", "SystemExit: 3", "checks.py"),
        ("def check(output): return 1", "it gave 1 where true, false,", ""),
        ("def check(output): return None", "it gave None where", ""),
        ("def check(output): return {'passed': True, 'scor': 1}", "it gave {'passed': True, 'scor': 1} where", ""),
        ("def check(output): return {'passed': True, 'score': 2}", "where a score from 0 to 1 is expected", ""),
        ("def chek(output): return True", "Did you mean 'chek'?", ""),
        ("def check(output: return True", "SyntaxError", ""),
    ],
)
def test_what_a_function_cannot_say_is_an_error(tmp_path: Path, body: str, said: str, trace: str) -> None:
    raised = error(context(tmp_path), python=python(tmp_path, body))

    assert said in str(raised)
    assert trace in raised.stack_trace


def test_a_function_that_takes_too_long_is_left_behind(tmp_path: Path) -> None:
    ctx = replace(context(tmp_path), seconds=0.2)

    assert "it took longer than 0.2 s" in str(error(ctx, python=python(tmp_path, "def check(o): time.sleep(2)")))
    slow = "async def check(o): await asyncio.sleep(9)"
    assert "it took longer than 0.2 s" in str(error(ctx, python=python(tmp_path, slow)))


def test_what_a_function_says_is_masked(tmp_path: Path) -> None:
    ctx = replace(context(tmp_path), masker=Masker({"TOKEN": "s3cret-value"}))

    assert (
        verdict(ctx, python=python(tmp_path, "def check(o): return False, 's3cret-value'")).reason == "[secret TOKEN]"
    )
    raised = error(ctx, python=python(tmp_path, "def check(o): raise ValueError('s3cret-' + 'value')"))
    assert "s3cret-value" not in str(raised) + raised.stack_trace
    assert "[secret TOKEN]" in str(raised)
    assert "[secret TOKEN]" in raised.stack_trace


# ---- kinds ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that registers kinds of requirements, as pip would install it."""
    site = tmp_path / "site"
    metadata = site / "hooks_tests_kinds-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "hooks_tests_kinds.py").write_text(
        "from hooks.sampling.verdicts import RawVerdict\n"
        "class Words:\n"
        "    def __init__(self, settings, workflow_directory):\n"
        "        self.most = settings['most']\n"
        "    async def check(self, text, value):\n"
        "        count = len(text.split())\n"
        "        return RawVerdict(count <= self.most, reason=f'{count} words')\n"
        "class Odd:\n"
        "    def __init__(self, settings, workflow_directory): pass\n"
        "    async def check(self, text, value): return True\n"
    )
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hooks_tests_kinds\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[hooks.requirements]\nwords = hooks_tests_kinds:Words\nodd = hooks_tests_kinds:Odd\n"
        "broken = hooks_tests_kinds:Missing\n"
    )
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.usefixtures("installed")
def test_an_installed_kind_gets_its_settings_and_says_its_verdict(tmp_path: Path) -> None:
    ctx, answer = context(tmp_path), Answer("one two")

    assert verdict(ctx, answer, kind="words", settings={"most": 2}) == RawVerdict(True, reason="2 words")
    assert verdict(ctx, answer, kind="words", settings={"most": 1}) == RawVerdict(False, reason="2 words")
    assert "it raised KeyError: 'most'" in str(error(ctx, answer, kind="words"))
    assert "it gave True where a RawVerdict is expected" in str(error(ctx, answer, kind="odd"))
    assert "cannot be loaded" in str(error(ctx, answer, kind="broken"))


def test_a_kind_that_is_not_installed_is_an_error(tmp_path: Path) -> None:
    assert "there is no kind 'nobody'" in str(error(context(tmp_path), kind="nobody"))


def test_what_a_check_says_is_kept_as_the_log_can_carry_it(tmp_path: Path) -> None:
    """A file name that is no text, say, in a reason or in what is raised."""
    no = python(tmp_path, r"def check(output): return (False, 'no \udc80')")
    assert verdict(context(tmp_path), python=no) == RawVerdict(False, None, "no ?")

    yes = python(tmp_path, r"def check(output): return (True, 'yes \udc80')")
    assert verdict(context(tmp_path), python=yes) == RawVerdict(True, None, "yes ?")

    raising = error(context(tmp_path), python=python(tmp_path, r"def check(output): raise ValueError('\udc80')"))
    assert (raising.problem, "\udc80" in raising.stack_trace) == ("it raised ValueError: ?", False)
