"""Several hooks at one point: who is asked when, what each sees, and what of their answers counts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hooks.definition.model import HookEntry
from hooks.events.payloads import HookDecided
from hooks.kernel.state import DecidedHook
from hooks.pipeline.dispatch import Ask, Verdict
from hooks.pipeline.effective import logged_changes, payload_digest
from tests.pipeline.builders import HookFiles, appears, dispatch_of, document_at, outcomes, reason


def asked(files: HookFiles, *entries: HookEntry, **question: Any) -> Verdict:
    return asyncio.run(files.ask(*entries, **question))


def setting(files: HookFiles, name: str, **fields: Any) -> HookEntry:
    """A hook that adds its name to model_options: what came before it is seen in the order of the keys."""
    text = f"return modify(model_options={{**payload.model_options, {name!r}: len(payload.model_options)}})"
    return files.python(text, name, **fields)


def plugins(verdict: Verdict) -> list[str]:
    assert verdict.decided is not None
    return [decision.plugin for decision in verdict.decided.decisions]


def test_the_order_is_mode_then_priority_then_scope_then_position(files: HookFiles) -> None:
    quiet = {"record_hooks": "all"}
    entries = [
        files.python("return None", "audit", mode="audit", priority=1),
        files.python("return None", "final", final=True, priority=1),
        files.python("return None", "concurrent", mode="concurrent", priority=1),
        files.python("return None", "transform", mode="transform", priority=1),
        files.python("return None", "flag", origin="flag"),
        files.python("return None", "user", origin="user"),
        files.python("return None", "user-2", origin="user"),
        files.python("return None", "late", origin="user", priority=60),
        files.python("return None", "early", origin="flag", priority=40),
    ]

    assert plugins(asked(files, *entries, options=quiet)) == [
        *("early", "user", "user-2", "flag", "late"),
        *("transform", "concurrent", "final", "audit"),
    ]


def test_each_hook_sees_what_the_one_before_left_across_modes(files: HookFiles) -> None:
    verdict = asked(files, setting(files, "b", mode="transform"), setting(files, "a"), setting(files, "c"))

    assert verdict.changes == {"model_options": {"temperature": 1, "a": 1, "c": 2, "b": 3}}


def test_the_result_does_not_depend_on_how_fast_rewriting_hooks_are(files: HookFiles) -> None:
    """B59, in 100 runs: slow and fast, sync and async, in any mixture."""
    slow = files.python(
        "import random; time.sleep(random.random() / 500)\nreturn modify(model_options={'by': 'slow'})", "slow"
    )
    fast = files.python(
        "async def hook_(payload):\n    return modify(model_options={**payload.model_options, 'then': 'fast'})", "fast"
    )

    async def hundred() -> list[Verdict]:
        pipeline = files.pipeline(slow, fast)
        await pipeline.open()
        return list(await asyncio.gather(*(pipeline.dispatch(dispatch_of()) for _ in range(100))))

    assert all(
        verdict.changes == {"model_options": {"by": "slow", "then": "fast"}} for verdict in asyncio.run(hundred())
    )


def test_concurrent_hooks_are_asked_at_once_and_all_to_their_end(files: HookFiles) -> None:
    """Each waits for the other; the one that says no first in time is not the first in order."""
    one = files.command("touch one; while [ ! -e two ]; do sleep 0.01; done; sleep 0.05; echo first >&2; exit 2", "one")
    two = files.command("touch two; while [ ! -e one ]; do sleep 0.01; done; exit 2", "two")
    entries = [files.entry(name, argv=entry.argv, mode="concurrent") for name, entry in (("one", one), ("two", two))]

    verdict = asked(files, *entries, setting(files, "changed"))

    assert outcomes(verdict) == ["changed", "block", "block"]
    assert verdict.violation is not None
    assert verdict.violation.details["plugin"] == "one"
    assert verdict.violation.details["reason"] == "exit 2: first"


def test_sync_functions_of_mode_concurrent_do_not_wait_for_each_other(files: HookFiles) -> None:
    files.module(
        "both.py",
        """
        barrier = threading.Barrier(2)
        def one(payload):
            barrier.wait(5)
        def two(payload):
            barrier.wait(5)
        """,
    )
    entries = [files.entry(name, python=f"both.py:{name}", mode="concurrent") for name in ("one", "two")]

    assert asked(files, *entries) == Verdict()


def test_after_a_no_nobody_who_decides_is_asked_and_those_who_look_on_are(files: HookFiles) -> None:
    no = files.python("return block('no', code='E1')", "no")
    others = [
        files.python("raise AssertionError", "next"),
        files.python("raise AssertionError", "transform", mode="transform"),
        files.python("raise AssertionError", "concurrent", mode="concurrent"),
        files.python("raise AssertionError", "final", final=True),
    ]
    audit = files.python("return block(repr(payload.verdict.model_dump()))", "audit", mode="audit")

    verdict = asked(files, no, *others, audit)

    assert outcomes(verdict) == ["block", "not_run", "not_run", "not_run", "not_run", "would_block"]
    assert reason(verdict, 5) == "{'outcome': 'block', 'plugin': 'no', 'reason': 'no', 'code': 'E1'}"


def test_an_audit_sees_the_final_payload_and_the_verdict_and_those_who_decide_see_none(files: HookFiles) -> None:
    look = "return block(f'{dict(payload.model_options)} {payload.verdict and payload.verdict.outcome}')"
    verdict = asked(
        files,
        files.python(look, "audit", mode="audit"),
        setting(files, "a"),
        files.python("assert payload.verdict is None", "sequential"),
    )

    assert verdict.outcome == "changed"
    assert outcomes(verdict) == ["changed", "allow", "would_block"]
    assert reason(verdict, 2) == "{'temperature': 1, 'a': 1} changed"


def test_a_final_hook_judges_what_will_be_used_and_cannot_change_it(files: HookFiles) -> None:
    final = files.python("return block(str(dict(payload.model_options)))", "final", final=True, origin="user")
    rewriting = files.python("return modify(format={})", "rewriting", final=True)

    assert reason(asked(files, final, setting(files, "a", priority=99)), 1) == "{'temperature': 1, 'a': 1}"
    assert reason(asked(files, rewriting)) == "a final hook cannot change anything, but it gave format"


def test_all_questions_of_a_dispatch_are_one_gate_about_the_final_payload(files: HookFiles) -> None:
    first = files.python("return ask('costly')", "first", approvers=["ann"], deadline_ms=60_000, on_timeout="success")
    second = files.command("""echo '{"decision": "ask", "reason": "late"}'""", "second")

    verdict = asked(files, first, second, setting(files, "z", priority=90))

    assert verdict.outcome == "ask"
    assert verdict.violation is None
    assert list(verdict.asks) == [Ask("first", "costly", ("ann",), 60_000, "success"), Ask("second", "late")]
    final = {**document_at("component_pre_execute"), "model_options": {"temperature": 1, "z": 1}}
    assert verdict.payload_digest == payload_digest(final)
    assert verdict.changes == {"model_options": {"temperature": 1, "z": 1}}


def test_a_no_is_stronger_than_a_question_and_a_yes_skips_neither(files: HookFiles) -> None:
    verdict = asked(
        files,
        files.python("return ask('sure?')", "question"),
        files.command("""echo '{"decision": "allow"}'""", "yes"),
        files.python("return block('no')", "no"),
    )

    assert outcomes(verdict) == ["ask", "allow", "block"]
    assert verdict.outcome == "block"
    assert list(verdict.asks) == []


def test_a_question_may_come_with_changes(files: HookFiles) -> None:
    answer = """echo '{"decision": "ask", "reason": "hot", "modify": {"model_options": {}}}'"""
    verdict = asked(files, files.command(answer))

    assert verdict.outcome == "ask"
    assert verdict.changes == {"model_options": {}}
    assert verdict.decided is not None
    assert logged_changes([DecidedHook(1, verdict.decided)], "component_pre_execute", lambda value: value) == {
        "model_options": {}
    }


def test_a_logged_question_is_asked_of_nobody_again_and_still_stands(files: HookFiles) -> None:
    entry = files.command("""echo >> asked; echo '{"decision": "ask", "reason": "sure?"}'""", approvers=["ann"])
    first = asked(files, entry)
    assert first.decided is not None

    second = asked(files, entry, logged=[DecidedHook(5, first.decided)])

    assert (files.directory / "asked").read_text() == "\n"
    assert second.decided is None
    assert (second.outcome, list(second.asks), second.payload_digest) == (
        "ask",
        list(first.asks),
        first.payload_digest,
    )


def test_an_if_decides_whether_a_hook_is_asked(files: HookFiles) -> None:
    no = "return block('no')"
    verdict = asked(
        files,
        files.python(no, "sync", condition="payload.attempt > 1"),
        files.python(f"async def hook_(payload):\n    {no}", "async", condition="payload.attempt > 1"),
        files.command("exit 2", "command", condition="payload.attempt > 1"),
        files.python(no, "beside", condition="payload.attempt > 1", mode="concurrent"),
        files.python(no, "audit", condition="payload.attempt > 1", mode="audit"),
        files.python(no, "asked", condition="payload.action.prompt.startsWith('Write')", priority=99),
    )

    assert verdict.decided is not None
    assert [(decision.plugin, decision.outcome) for decision in verdict.decided.decisions] == [
        ("sync", "allow"),
        ("async", "allow"),
        ("command", "allow"),
        ("asked", "block"),
        ("beside", "not_run"),
        ("audit", "allow"),
    ]


def test_an_if_that_cannot_be_evaluated_is_a_failure_and_never_just_false(files: HookFiles) -> None:
    verdict = asked(files, files.python("return None", condition="payload.no_such_field > 1"))

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith("its `if` cannot be evaluated")


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("payload.atempt > 1", "in a payload of component_pre_execute; did you mean `attempt`?"),
        (
            "payload.zzz",
            "; `hooks schema payload component_pre_execute` has the fields",
        ),
    ],
)
def test_an_if_over_a_field_that_is_not_there_is_told_what_is(files: HookFiles, condition: str, hint: str) -> None:
    assert reason(asked(files, files.python("return None", condition=condition))).endswith(hint)


# ---- background ----------------------------------------------------------------------------------------------------


async def in_background(
    files: HookFiles, *entries: HookEntry, timeout_s: float = 5
) -> tuple[Verdict, list[HookDecided]]:
    pipeline = files.pipeline(*entries)
    await pipeline.open()
    try:
        verdict = await pipeline.dispatch(dispatch_of())
        return verdict, await pipeline.drain()
    finally:
        await pipeline.close()


def test_nobody_waits_for_a_background_hook_and_what_it_says_is_recorded_at_the_end(files: HookFiles) -> None:
    waiting = files.command(
        "while [ ! -e go ]; do sleep 0.01; done; jq -r .verdict.outcome >&2; exit 2", "waiting", mode="fire_and_forget"
    )

    async def story() -> tuple[Verdict, list[HookDecided]]:
        pipeline = files.pipeline(waiting, files.python("return block('no')", "no"))
        await pipeline.open()
        verdict = await pipeline.dispatch(dispatch_of())
        (files.directory / "go").touch()
        later = await pipeline.drain()
        await pipeline.close()
        return verdict, later

    verdict, (later,) = asyncio.run(story())

    assert outcomes(verdict) == ["block"]
    assert (later.verdict, later.ordinal, later.attempt_id) == (
        "block",
        1,
        verdict.decided and verdict.decided.attempt_id,
    )
    assert [(decision.outcome, decision.reason) for decision in later.decisions] == [("would_block", "exit 2: block")]


def test_a_background_hook_that_does_not_come_to_an_end_is_lost(files: HookFiles) -> None:
    command = files.command("echo $$ > pid; sleep 60", "command", mode="fire_and_forget")
    function = files.python("threading.Event().wait(60)", "function", mode="fire_and_forget")

    async def story() -> list[HookDecided]:
        pipeline = files.pipeline(command, function)
        await pipeline.open()
        await pipeline.dispatch(dispatch_of())
        await appears(files.directory / "pid")
        later = await pipeline.drain(0.01)
        await pipeline.close()
        return later

    lost = asyncio.run(story())

    assert sorted((decided.decisions[0].plugin, decided.decisions[0].outcome) for decided in lost) == [
        ("command", "lost"),
        ("function", "lost"),
    ]
    assert not Path("/proc", (files.directory / "pid").read_text().strip()).exists()


def test_a_background_hook_that_has_spoken_is_not_asked_again_unless_it_is_another_now(files: HookFiles) -> None:
    def look(reason: str) -> HookEntry:
        return files.python(f"return block({reason!r})", "look", mode="fire_and_forget")

    async def later(entry: HookEntry, *logged: DecidedHook) -> list[HookDecided]:
        pipeline = files.pipeline(entry)
        await pipeline.open()
        try:
            await pipeline.dispatch(dispatch_of(logged=logged))
            return await pipeline.drain()
        finally:
            await pipeline.close()

    (first,) = asyncio.run(later(look("seen")))

    assert asyncio.run(later(look("seen"), DecidedHook(5, first))) == []
    assert len(asyncio.run(later(look("edited"), DecidedHook(5, first)))) == 1


def test_a_background_decision_is_not_taken_for_that_of_the_dispatch(files: HookFiles) -> None:
    change = setting(files, "a")
    look = files.python("return block('seen')", "look", mode="fire_and_forget")
    verdict, (later,) = asyncio.run(in_background(files, change, look))
    assert verdict.decided is not None
    logged = [DecidedHook(5, verdict.decided), DecidedHook(6, later)]

    again = asked(files, change, look, logged=logged)

    assert again.decided is None
    assert again.changes == verdict.changes
    assert logged_changes(logged, "component_pre_execute", lambda value: value) == verdict.changes
