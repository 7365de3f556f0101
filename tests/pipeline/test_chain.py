"""How the answers of several hooks come to one verdict, and when a logged one is taken instead."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from hooks.events.payloads import HookChange, HookDecided, HookDecision
from hooks.kernel.state import DecidedHook
from hooks.pipeline.dispatch import Verdict
from hooks.pipeline.effective import logged_changes
from tests.pipeline.builders import HookFiles, document_at, outcomes, reason, who


def asked(files: HookFiles, *entries: Any, **question: Any) -> Verdict:
    return asyncio.run(files.ask(*entries, **question))


def test_the_first_of_two_changes_wins_nothing_by_being_slow(files: HookFiles) -> None:
    """B59: declared order, whatever the speed; both changes are in the log, whole."""
    slow = files.python("time.sleep(0.002)\nreturn modify(model_options={'by': 'slow'})", "slow")
    fast = files.python(
        "async def hook_(payload):\n    return modify(model_options={**payload.model_options, 'then': 'fast'})", "fast"
    )

    async def ask_100_times() -> list[Verdict]:
        return [await files.ask(slow, fast) for _ in range(100)]

    for verdict in asyncio.run(ask_100_times()):
        assert verdict.changes == {"model_options": {"by": "slow", "then": "fast"}}
        assert verdict.decided is not None
        assert [decision.changed for decision in verdict.decided.decisions] == [
            {"model_options": HookChange(before={"temperature": 1}, after={"by": "slow"})},
            {"model_options": HookChange(before={"by": "slow"}, after={"by": "slow", "then": "fast"})},
        ]


def test_an_empty_answer_leaves_an_earlier_change_alone(files: HookFiles) -> None:
    """B60."""
    change = files.command("""echo '{"modify": {"format": {}}}'""", "change")

    verdict = asked(files, change, files.command("exit 0", "silent"), files.python("return None", "none"))

    assert outcomes(verdict) == ["changed", "allow", "allow"]
    assert verdict.changes == {"format": {}}


def test_a_block_ends_the_chain_and_keeps_what_was_changed_before(files: HookFiles) -> None:
    change = files.python("return modify(format={})", "change")
    no = files.python("return block('no', code='E1', details={'limit': 3})", "no")
    never = files.command("touch asked", "never")

    verdict = asked(files, change, no, never, files.python("return None", "nor"))

    assert outcomes(verdict) == ["changed", "block", "not_run", "not_run"]
    assert not (files.directory / "asked").exists()
    assert verdict.outcome == "block"
    assert verdict.violation is not None
    assert msgspec.to_builtins(verdict.violation) == {
        "errorCode": "PluginViolationError",
        "errorClass": "policy",
        "errorMessage": "Hook no blocked component_pre_execute: no",
        "details": {
            "hook": "component_pre_execute",
            "plugin": "no",
            "reason": "no",
            "code": "E1",
            "details": {"limit": 3},
        },
    }


def test_a_failed_change_is_taken_back_whole(files: HookFiles) -> None:
    half = files.python("return modify(format={}, tool_calls_enabled=1)", "half", on_error="ignore")

    verdict = asked(files, half, files.python("return block(repr(payload.format))", "after"))

    assert verdict.changes == {}
    assert reason(verdict, 1) == "None"


def test_nobody_having_anything_to_say_is_recorded_only_on_request(files: HookFiles) -> None:
    entry = files.python("return None")

    assert asked(files, entry) == Verdict()
    told = asked(files, entry, options={"record_hooks": "all"})
    assert told.outcome == "allow"
    assert outcomes(told) == ["allow"]


def test_a_change_to_the_same_value_is_none(files: HookFiles) -> None:
    entry = files.python("return modify(model_options=dict(payload.model_options), tool_calls_enabled=False)")

    assert asked(files, entry) == Verdict()


@pytest.mark.parametrize(
    "fields",
    [
        {"requirements": []},
        {"model_options": {}},
        {"format": None},
        {"strategy": None},
        {"tool_calls_enabled": False},
        {"strategy": {"strategy": "rejection"}},
    ],
)
def test_fields_can_be_set_and_cleared(files: HookFiles, fields: dict[str, Any]) -> None:
    full = {
        "requirements": [],
        "model_options": {"temperature": 1},
        "format": {"type": "string"},
        "strategy": {"strategy": "majority"},
        "tool_calls_enabled": True,
    }
    document = {**document_at("component_pre_execute"), **full}
    expected = {name: value for name, value in fields.items() if value != full[name]}

    assert asked(files, files.python(f"return modify(**{fields!r})"), document=document).changes == expected


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("requirements=None", "'requirements' has a value of a wrong type: Input should be a valid list, not None"),
        ("model_options=None", "'model_options' has a value of a wrong type"),
        ("model_options=[]", "'model_options' has a value of a wrong type"),
        ("tool_calls_enabled=None", "'tool_calls_enabled' has a value of a wrong type"),
        (
            "model_options={'x': float('nan')}",
            "'model_options' has a value of a wrong type: $.x: nan is not a JSON number",
        ),
        ("model_options={1: 2}", "'model_options' has a value of a wrong type: $: a key is of type int, not a string"),
        ("model_options={'x': 2**70}", "'model_options' has a value of a wrong type: $.x: "),
        ("model_options={'x': {1, 2}}", "'model_options' has a value of a wrong type: $.x: a set is not a JSON value"),
        (
            "requirements=[{'name': 'r'}]",
            "'requirements' at 0 has a value of a wrong type: Value error, a requirement has",
        ),
        ("requirements=[{'name': 'r', 'chek': 'true'}]", "'requirements' at 0.chek has a value of a wrong type: Extra"),
        ("format={'type': 'sting'}", "'format' is no JSON Schema"),
        ("format={'$ref': 'http://127.0.0.1:1/x'}", "'format' is no JSON Schema"),
        ("action=payload.action", "'action' is not writable at component_pre_execute; writable are requirements,"),
        ("model_options={'top_k': 1}", "'model_options' cannot be used: writer does not honour top_k"),
    ],
)
def test_a_value_that_does_not_fit_is_a_failure_of_the_hook(files: HookFiles, fields: str, said: str) -> None:
    def accepts(name: str, value: Any) -> str | None:
        return "writer does not honour top_k" if name == "model_options" and "top_k" in value else None

    verdict = asked(files, files.python(f"return modify({fields})"), accepts=accepts)

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith(said)


def test_an_executor_call_has_no_model_to_set_anything_for(files: HookFiles) -> None:
    verdict = asked(files, files.python("return modify(model_options={})"), node="publish")

    assert reason(verdict) == (
        "'model_options' cannot be changed: this is an executor call, which has no model to set anything for"
    )


# ---- what stands in the log already ---------------------------------------------------------------------------------


def counting(files: HookFiles, body: str) -> Any:
    """A hook that also leaves a line for each time it is asked."""
    return files.command(f"echo asked >> asked\n{body}")


def times_asked(files: HookFiles) -> int:
    return len((files.directory / "asked").read_text().splitlines())


@pytest.mark.parametrize(
    "body",
    [
        """echo '{"modify": {"format": {"title": "x"}}}'""",
        """echo '{"decision": "block", "reason": "no", "code": "E"}'""",
        "exit 1",
    ],
)
def test_a_logged_decision_is_reused_and_nobody_is_asked_again(files: HookFiles, body: str) -> None:
    entry = counting(files, body)
    first = asked(files, entry)
    assert first.decided is not None

    second = asked(files, entry, logged=[DecidedHook(7, first.decided)])

    assert times_asked(files) == 1
    assert (second.outcome, second.changes, second.violation) == (first.outcome, first.changes, first.violation)
    assert second.decided is None


def test_the_values_of_a_reused_decision_are_read_from_their_blobs(files: HookFiles) -> None:
    entry = counting(files, """echo '{"modify": {"format": {"title": "x"}}}'""")
    decided = asked(files, entry).decided
    assert decided is not None
    in_blob = msgspec.structs.replace(decided.decisions[0], changed={"format": HookChange(before=None, after="blob 1")})
    logged = DecidedHook(7, msgspec.structs.replace(decided, decisions=[in_blob]))

    verdict = asked(files, entry, logged=[logged], options={"resolve": {"blob 1": {"title": "x"}}.__getitem__})

    assert verdict.changes == {"format": {"title": "x"}}


@pytest.mark.parametrize("what", ["payload", "file"])
def test_a_decision_about_something_else_is_made_anew_and_superseded(files: HookFiles, what: str) -> None:
    entries = [counting(files, "exit 2")]
    decided = asked(files, *entries).decided
    assert decided is not None
    document = document_at("component_pre_execute")
    if what == "payload":
        document["params"] = {"since": "v2"}
    else:
        entries = [counting(files, "exit 2 # edited")]

    verdict = asked(files, *entries, document=document, logged=[DecidedHook(7, decided)])

    assert times_asked(files) == 2
    assert verdict.decided is not None
    assert verdict.decided.supersedes == 7


def test_a_chain_goes_on_after_the_last_decision_that_still_holds(files: HookFiles) -> None:
    """A hook configured since is asked, about what the others, who are not asked again, had left."""
    first = counting(files, """echo '{"modify": {"model_options": {"temperature": 0}}}'""")
    decided = asked(files, first).decided
    assert decided is not None
    added = files.python("return modify(model_options={**payload.model_options, 'then': 1})", "added")

    verdict = asked(files, first, added, logged=[DecidedHook(7, decided)])

    assert times_asked(files) == 1
    assert outcomes(verdict) == ["changed", "changed"]
    assert verdict.changes == {"model_options": {"temperature": 0, "then": 1}}
    assert verdict.decided is not None
    assert verdict.decided.supersedes == 7
    assert logged_changes(
        [DecidedHook(7, decided), DecidedHook(9, verdict.decided)], "component_pre_execute", lambda value: value
    ) == {"model_options": {"temperature": 0, "then": 1}}


def test_hooks_after_one_that_is_another_now_are_asked_again(files: HookFiles) -> None:
    edited, last = files.python("return None", "edited"), counting(files, "exit 0")
    decided = asked(files, edited, last, options={"record_hooks": "all"}).decided
    assert decided is not None

    asked(files, files.python("return modify(format={})", "edited"), last, logged=[DecidedHook(7, decided)])

    assert times_asked(files) == 2


def test_a_superseding_decision_is_recorded_even_if_all_is_well_now(files: HookFiles) -> None:
    decided = asked(files, counting(files, "exit 2")).decided
    assert decided is not None

    verdict = asked(files, counting(files, "exit 0"), logged=[DecidedHook(7, decided)])

    assert verdict.violation is None
    assert verdict.decided is not None
    assert (verdict.decided.verdict, verdict.decided.supersedes) == ("allow", 7)


def test_a_decision_of_another_dispatch_is_not_looked_at(files: HookFiles) -> None:
    entry = counting(files, "exit 2")
    decided = asked(files, entry).decided
    assert decided is not None
    other_point = msgspec.structs.replace(decided, hook="component_post_success")
    other_ordinal = msgspec.structs.replace(decided, ordinal=2)

    verdict = asked(files, entry, logged=[DecidedHook(7, other_point), DecidedHook(8, other_ordinal)])

    assert times_asked(files) == 2
    assert verdict.decided is not None
    assert verdict.decided.supersedes is None


def test_the_decision_names_everything_that_recovery_compares(files: HookFiles) -> None:
    entry = files.command("echo Friday >&2; exit 2")
    decided = asked(files, entry).decided
    assert decided is not None
    (decision,) = decided.decisions
    member = files.pipeline(entry)._by_point["component_pre_execute"][0].member

    assert decided == HookDecided(
        hook="component_pre_execute",
        **who("draft"),
        ordinal=1,
        payload_digest=decided.payload_digest,
        verdict="block",
        decisions=[
            HookDecision(
                plugin="policy",
                origin="workflow",
                digest=member.digest,
                mode="sequential",
                outcome="block",
                reason="exit 2: Friday",
                duration_ms=decision.duration_ms,
            )
        ],
    )
