"""What a function may do as a hook, and what it cannot do to others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hooks.pipeline import eager
from tests.pipeline.builders import HookFiles, appears, dispatch_of, document_at, outcomes, reason


def asked(files: HookFiles, *entries: Any, **question: Any) -> Any:
    return asyncio.run(files.ask(*entries, **question))


@pytest.mark.parametrize("definition", ["def hook_(payload, ctx):", "async def hook_(payload, ctx):"])
def test_a_function_may_take_a_context(files: HookFiles, definition: str) -> None:
    entry = files.python(
        f"{definition}\n    return block(f'{{ctx.plugin}} of {{ctx.workflow_id}} in {{ctx.run_directory}}')"
    )

    assert reason(asked(files, entry)) == f"policy of notes in {files.directory / 'run'}"


def test_a_function_with_a_default_argument_is_given_no_context(files: HookFiles) -> None:
    entry = files.python("def hook_(payload, limit=3):\n    return block(str(limit))")

    assert reason(asked(files, entry)) == "3"


def test_the_payload_is_read_by_attribute(files: HookFiles) -> None:
    entry = files.python(
        "return block(f'{payload.action.prompt} {payload.model_options[\"temperature\"]} {payload.params}')"
    )

    assert reason(asked(files, entry)) == "Write. 1 {'since': 'v1'}"


def test_consecutive_sync_functions_share_one_thread_also_when_one_changes_something(files: HookFiles) -> None:
    files.module(
        "threads.py",
        """
        seen = []
        def first(payload):
            seen.append(threading.get_ident())
            return modify(format={"title": "first"})
        def second(payload):
            seen.append(threading.get_ident())
        def third(payload):
            return block(f"{len({*seen, threading.get_ident()})} thread, {payload.format['title']}")
        """,
    )
    entries = [files.entry(name, python=f"threads.py:{name}") for name in ("first", "second", "third")]

    assert reason(asked(files, *entries), 2) == "1 thread, first"


def test_a_sync_function_runs_beside_the_loop_and_an_async_one_in_it(files: HookFiles) -> None:
    files.module(
        "where.py",
        """
        def beside(payload):
            return modify(format={"in_main": threading.current_thread() is threading.main_thread()})
        async def inside(payload):
            await asyncio.sleep(0)
            return modify(model_options={"in_main": threading.current_thread() is threading.main_thread()})
        """,
    )

    verdict = asked(files, *(files.entry(name, python=f"where.py:{name}") for name in ("beside", "inside")))

    assert verdict.changes == {"format": {"in_main": False}, "model_options": {"in_main": True}}


def test_hooks_after_one_that_overran_are_asked_and_its_late_answer_is_not_heard(files: HookFiles) -> None:
    files.module(
        "late.py",
        """
        gate = threading.Event()
        def stuck(payload):
            gate.wait()
            return modify(format={"from": "late"})
        def after(payload):
            gate.set()
            time.sleep(0.05)
            return modify(model_options={})
        """,
    )
    stuck = files.entry("stuck", python="late.py:stuck", timeout_ms=50, on_error="ignore")
    after = files.entry("after", python="late.py:after")

    verdict = asked(files, stuck, after)

    assert outcomes(verdict) == ["ignored_error", "changed"]
    assert verdict.changes == {"model_options": {}}


def test_an_async_function_that_overruns_is_cancelled(files: HookFiles) -> None:
    entry = files.python(
        """
        async def hook_(payload):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                open(payload.params["since"], "w").close()
                raise
        """,
        timeout_ms=50,
    )
    cancelled = files.directory / "cancelled"
    document = {**document_at("component_pre_execute"), "params": {"since": str(cancelled)}}

    verdict = asked(files, entry, document=document)

    assert reason(verdict) == "no answer within its timeout of 50ms"
    assert cancelled.exists()


def test_an_async_function_that_catches_its_cancellation_is_too_late_all_the_same(files: HookFiles) -> None:
    entry = files.python(
        """
        async def hook_(payload):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                return modify(format={})
        """,
        timeout_ms=50,
    )

    verdict = asked(files, entry)

    assert reason(verdict) == "no answer within its timeout of 50ms"
    assert verdict.changes == {}


@pytest.mark.parametrize("definition", ["def", "async def"])
def test_a_function_that_does_not_let_its_timeout_through_has_overrun_all_the_same(
    files: HookFiles, definition: str
) -> None:
    """B58: while it runs nothing else does, so that nobody can end it; its answer is still too late."""
    # Sorting holds the interpreter, in a thread as in the loop.
    entry = files.python(
        f"""
        {definition} hook_(payload):
            until = time.monotonic() + 0.35
            while time.monotonic() < until:
                sorted(range(10_000))
            return modify(format={{}})
        """,
        timeout_ms=300,
    )

    verdict = asked(files, entry)

    assert reason(verdict) == "no answer within its timeout of 300ms"
    assert verdict.changes == {}


@pytest.mark.parametrize("definition", ["def", "async def"])
def test_an_exception_that_cannot_speak_is_a_failure_of_that_hook(files: HookFiles, definition: str) -> None:
    entry = files.python(
        f"""
        class Mute(Exception):
            def __str__(self): raise SystemExit(0)
            __repr__ = __str__
        {definition} hook_(payload):
            raise Mute
        """
    )

    verdict = asked(files, entry)

    assert outcomes(verdict) == ["error"]
    assert reason(verdict) == "raised Mute: (its message cannot be had: __str__ raised SystemExit)"


@pytest.mark.parametrize("definition", ["def", "async def"])
def test_an_answer_whose_objects_raise_is_a_failure_of_that_hook(files: HookFiles, definition: str) -> None:
    entry = files.python(
        f"""
        class Sly(dict):
            def items(self): raise RuntimeError("not for you")
        {definition} hook_(payload):
            return modify(model_options=Sly(a=1))
        """
    )

    verdict = asked(files, entry)

    assert outcomes(verdict) == ["error"]
    assert reason(verdict) == "its answer cannot be read: RuntimeError: not for you"


def test_a_no_without_a_reason_says_so(files: HookFiles) -> None:
    assert reason(asked(files, files.python("return block('')"))) == "no reason given"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ValueError('no such thing')", "raised ValueError: no such thing"),
        ("raise SystemExit(0)", "raised SystemExit: 0"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
        ("raise asyncio.CancelledError", "raised CancelledError"),
        ("raise StopIteration", "raised StopIteration"),
        ("raise TimeoutError('of mine')", "raised TimeoutError: of mine"),
        ("return 'deny'", "it returned a str; return None, modify(...), block(...) or ask(...)"),
        ("return True", "it returned a bool; return None, modify(...), block(...) or ask(...)"),
        ("return {'decision': 'block'}", "it returned a dict; return None, modify(...), block(...) or ask(...)"),
        ("return asyncio.sleep(0)", "it returned a coroutine; write it as `async def`"),
        ("return block(3)", "block() takes text for its reason and its code"),
        ("return block('no', details={'when': {1, 2}})", "block() was given what JSON cannot carry"),
        ("payload.node_id = 'x'", "raised ValidationError"),
        ("payload.model_options['temperature'] = 2", "raised TypeError: a hook's payload cannot be changed in place"),
        ("payload.requirements.append({})", "raised TypeError: a hook's payload cannot be changed in place"),
        ("payload.params.update(since='v2')", "raised TypeError: a hook's payload cannot be changed in place"),
    ],
)
def test_whatever_else_a_function_does_is_a_failure_of_that_hook(files: HookFiles, body: str, said: str) -> None:
    verdict = asked(files, files.python(body))

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith(said)


@pytest.mark.parametrize("raised", ["SystemExit(0)", "asyncio.CancelledError", "TimeoutError"])
def test_an_async_function_cannot_end_the_driver_either(files: HookFiles, raised: str) -> None:
    verdict = asked(files, files.python(f"async def hook_(payload):\n    raise {raised}"))

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith("raised")


@pytest.mark.parametrize(
    ("text", "function", "said"),
    [
        ("def cap(payload): ...", "cpa", "has no 'cpa'. Did you mean 'cap'?"),
        ("cap = 3", "cap", "A value of type int is no hook"),
        ("import no_such_module_anywhere", "cap", "loading policy.py failed: ModuleNotFoundError"),
        ("def cap(payload) ...", "cap", "loading policy.py failed: SyntaxError"),
        ("@hook()\ndef cap(payload): ...", "cap", "@hook() names no hook point"),
        ("@hook('component_pre')\ndef cap(payload): ...", "cap", "there is no hook point 'component_pre'"),
        (
            "@hook(HookType.COMPONENT_POST_ERROR)\ndef cap(payload): ...",
            "cap",
            "is declared for component_post_error, not for component_pre_execute",
        ),
    ],
)
def test_a_function_that_cannot_be_had_is_a_failure_of_that_hook(
    files: HookFiles, text: str, function: str, said: str
) -> None:
    files.module("policy.py", text)

    verdict = asked(files, files.entry(python=f"policy.py:{function}", timeout_ms=200))

    assert outcomes(verdict) == ["error"]
    assert said in reason(verdict)


def test_a_file_that_takes_for_ever_to_load_is_a_failure_of_that_hook(files: HookFiles) -> None:
    release = files.directory / "release"
    files.module(
        "policy.py",
        f"""
        import os
        while not os.path.exists({str(release)!r}): time.sleep(0.005)
        def cap(payload): ...
        """,
    )

    verdict = asked(files, files.entry(python="policy.py:cap", timeout_ms=100))
    release.touch()

    assert reason(verdict) == "policy.py:cap was not loaded within 100ms"


def test_a_declared_function_is_asked_at_its_point(files: HookFiles) -> None:
    entry = files.python("@hook(HookType.COMPONENT_PRE_EXECUTE)\ndef hook_(payload):\n    return block('declared')")

    assert reason(asked(files, entry)) == "declared"


def test_instances_and_closures_of_one_function_do_not_meet(files: HookFiles) -> None:
    files.module(
        "limits.py",
        """
        def limit(name, value):
            count = 0
            def hook_(payload):
                nonlocal count
                count += 1
                return modify(model_options={**payload.model_options, name: value * count})
            return hook_
        low, high = limit("low", 1), limit("high", 100)
        class Counter:
            def __init__(self): self.count = 0
            def __call__(self, payload):
                self.count += 1
                return modify(format={**(payload.format or {}), str(id(self)): self.count})
        one, other = Counter(), Counter()
        """,
    )
    names = ("low", "high", "one", "other")

    verdict = asked(files, *(files.entry(name, python=f"limits.py:{name}") for name in names))

    assert verdict.changes["model_options"] == {"temperature": 1, "low": 1, "high": 100}
    assert sorted(verdict.changes["format"].values()) == [1, 1]


def test_what_a_hook_keeps_and_changes_later_does_not_change_what_is_in_force(files: HookFiles) -> None:
    files.module(
        "kept.py",
        """
        mine = {"stop": ["a"]}
        def give(payload):
            return modify(model_options=mine)
        def tamper(payload):
            mine["stop"].append("b")
            mine["temperature"] = 9
            return block(repr(payload.model_options))
        """,
    )

    verdict = asked(files, *(files.entry(name, python=f"kept.py:{name}") for name in ("give", "tamper")))

    assert verdict.changes == {"model_options": {"stop": ["a"]}}
    assert reason(verdict, 1) == "{'stop': ['a']}"


def test_what_builds_on_a_payload_is_ordinary(files: HookFiles) -> None:
    files.module(
        "builds.py",
        """
        import copy, json
        def builds(payload):
            copied = copy.deepcopy(payload.params)
            copied["x"] = [1]
            copied["x"].append(2)
            options = payload.model_options | {"all": json.loads(json.dumps(copied))}
            requirement = {"name": "short", "check": "size(output) < 9"}
            return modify(model_options=options, requirements=[*payload.requirements, requirement])
        def again(payload):
            return modify(requirements=payload.requirements + [{"name": "r", "schema": {"type": "string"}}])
        """,
    )

    verdict = asked(files, *(files.entry(name, python=f"builds.py:{name}") for name in ("builds", "again")))

    assert verdict.changes["model_options"] == {"temperature": 1, "all": {"since": "v1", "x": [1, 2]}}
    assert [(r["name"], r["check"], r["schema"]) for r in verdict.changes["requirements"]] == [
        ("short", "size(output) < 9", None),
        ("r", None, {"type": "string"}),
    ]


def test_a_format_may_be_a_model_class(files: HookFiles) -> None:
    entry = files.python(
        """
        from pydantic import BaseModel
        class Notes(BaseModel):
            title: str
        def hook_(payload):
            return modify(format=Notes)
        """
    )

    assert asked(files, entry).changes["format"]["properties"] == {"title": {"title": "Title", "type": "string"}}


def test_a_cancelled_dispatch_abandons_the_thread(files: HookFiles) -> None:
    entry = files.python("open(payload.params['since'], 'w').close()\ntime.sleep(60)")
    begun = files.directory / "begun"
    document = {**document_at("component_pre_execute"), "params": {"since": str(begun)}}

    async def cancelled_while_asking() -> None:
        asking = asyncio.create_task(files.ask(entry, document=document))
        await appears(begun)
        asking.cancel()
        await asking

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled_while_asking())


def test_a_module_is_named_as_well_as_a_file(files: HookFiles) -> None:
    verdict = asked(files, files.entry(python="hooks.pipeline.verdicts:block"))

    assert outcomes(verdict) == ["error"]
    assert "block() takes text" in reason(verdict)


@pytest.mark.parametrize("word", ["def", "async def"])
@pytest.mark.parametrize("waits", ["", "await asyncio.sleep(0.001); "], ids=["at once", "later"])
@pytest.mark.parametrize(
    "raised", ["KeyboardInterrupt", "SystemExit", "GeneratorExit", "Own", "asyncio.CancelledError"]
)
@pytest.mark.parametrize("mode", ["sequential", "concurrent"])
def test_what_would_end_the_loop_is_a_failure_of_the_hook(
    files: HookFiles, word: str, waits: str, raised: str, mode: str
) -> None:
    body = "" if word == "def" else waits
    entry = files.python(
        f"class Own(BaseException):\n    pass\n{word} hook_(payload):\n    {body}raise {raised}", mode=mode
    )

    verdict = asked(files, entry)

    assert outcomes(verdict) == ["error"]
    assert reason(verdict) == f"raised {raised.split('.')[-1]}"


NEVER_ENDS = """
    async def hook_(payload):
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass
"""


def test_a_hook_that_will_not_end_is_given_up(files: HookFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "CLEAN_UP_S", 0.02)
    entry = files.python(NEVER_ENDS, timeout_ms=500)

    assert reason(asked(files, entry)) == "no answer within its timeout of 500ms"


def test_a_hook_in_the_background_that_will_not_end_is_lost(files: HookFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "CLEAN_UP_S", 0.02)
    entry = files.python(NEVER_ENDS, mode="fire_and_forget")

    async def ask_and_drain() -> Any:
        pipeline = files.pipeline(entry)
        await pipeline.open()
        await pipeline.dispatch(dispatch_of())
        return await pipeline.drain(0.01)

    ((decision,),) = [decided.decisions for decided in asyncio.run(ask_and_drain())]
    assert decision.outcome == "lost"


def test_a_hook_may_clean_up_when_it_is_told_to_end(files: HookFiles) -> None:
    entry = files.python(
        """
        async def hook_(payload):
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.001)
                open("cleaned", "w").close()
        """.replace('"cleaned"', repr(str(files.directory / "cleaned"))),
        timeout_ms=20,
    )

    assert reason(asked(files, entry)) == "no answer within its timeout of 20ms"
    assert (files.directory / "cleaned").exists()


def test_a_time_limit_of_the_hook_itself_is_its_own_affair(files: HookFiles) -> None:
    entry = files.python(
        """
        async def hook_(payload):
            try:
                async with asyncio.timeout(0.001):
                    try:
                        await asyncio.sleep(60)
                    finally:
                        await asyncio.sleep(0.001)
            except TimeoutError:
                return block("took too long")
        """
    )

    assert reason(asked(files, entry)) == "took too long"


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "SystemExit", "GeneratorExit"])
@pytest.mark.parametrize("word", ["def", "async def"])
def test_a_plugin_that_would_end_the_driver_when_it_is_opened_has_failed(
    files: HookFiles, word: str, raised: str
) -> None:
    files.module(
        "opens.py",
        f"""
        class Opens(Plugin):
            {word} open(self):
                raise {raised}
            @hook("component_pre_execute")
            def look(self, payload):
                pass
        """,
    )

    assert raised in reason(asked(files, files.entry("opens", python="opens.py:Opens")))


def test_a_module_that_fails_when_it_is_looked_into_has_failed(files: HookFiles) -> None:
    files.module("odd.py", "def __getattr__(name):\n    raise RuntimeError('odd')")

    assert "RuntimeError: odd" in reason(asked(files, files.entry("odd", python="odd.py:hook_")))


def test_what_a_plugin_kept_when_it_failed_is_saved_with_its_next_decision(files: HookFiles) -> None:
    files.module(
        "counts.py",
        """
        class Counts(Plugin):
            @hook("component_pre_execute", priority=1)
            def wrong(self, payload, ctx):
                ctx.state["n"] = 1
                return {"decision": "block"}
            @hook("component_pre_execute", priority=2)
            def right(self, payload, ctx):
                pass
        """,
    )

    verdict = asked(files, files.entry("counts", python="counts.py:Counts", on_error="ignore"))

    assert outcomes(verdict) == ["ignored_error", "allow"]
    assert verdict.decided.decisions[1].state.value == {"n": 1}
