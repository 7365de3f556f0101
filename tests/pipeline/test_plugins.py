"""Plugins: several hooks with one state, registered as a whole, opened and closed on every path."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hooks.definition.hook_points import HookType
from hooks.errors import UsageError
from hooks.events.payloads import PluginState
from hooks.pipeline.declaring import hook
from hooks.pipeline.dispatch import Verdict
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.plugins import Plugin, PluginSet
from hooks.pipeline.verdicts import block, modify
from tests.pipeline.builders import HookFiles, dispatch_of, outcomes, reason

PRE, POST = HookType.COMPONENT_PRE_EXECUTE, HookType.COMPONENT_POST_SUCCESS

COUNTER = """
class Counter(Plugin):
    priority = 20
    def open(self):
        self.log = []
    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def before(self, payload, ctx):
        ctx.state["n"] = ctx.state.get("n", 0) + 1
        self.log.append("before")
    @hook(HookType.COMPONENT_POST_SUCCESS, priority=60)
    async def after(self, payload, ctx):
        return block(f"{ctx.state['n']} {self.log} {ctx.plugin} {ctx.hook} {ctx.ordinal}")
"""


async def through(pipeline: Pipeline, *points: str, **question: Any) -> list[Verdict]:
    await pipeline.open()
    try:
        return [await pipeline.dispatch(dispatch_of(point, **question)) for point in points]
    finally:
        await pipeline.close()


def test_the_hooks_of_a_plugin_share_its_instance_and_its_state(files: HookFiles) -> None:
    files.module("counter.py", COUNTER)
    pipeline = files.pipeline(files.entry("counter", on=[], python="counter.py:Counter"))

    before, again, after = asyncio.run(through(pipeline, PRE, PRE, POST))

    assert before.decided is not None
    assert before.decided.decisions[0].state == PluginState(key="workflow::counter", value={"n": 1})
    assert again.decided is not None
    assert again.decided.decisions[0].state == PluginState(key="workflow::counter", value={"n": 2})
    assert reason(after) == "2 ['before', 'before'] counter.after component_post_success 1"


def test_what_a_plugin_keeps_is_there_again_in_another_driver(files: HookFiles) -> None:
    files.module("counter.py", COUNTER)
    entry = files.entry("counter", on=[], python="counter.py:Counter")
    blobs = {"blob 1": {"n": 41}}
    options: dict[str, Any] = {
        "states": {"workflow::counter": "blob 1"},
        "resolve": lambda value: blobs.get(value, value) if isinstance(value, str) else value,
    }

    (verdict,) = asyncio.run(through(files.pipeline(entry, **options), PRE))

    assert verdict.decided is not None
    assert verdict.decided.decisions[0].state == PluginState(key="workflow::counter", value={"n": 42})


def test_a_state_that_is_no_json_is_a_failure_of_the_hook(files: HookFiles) -> None:
    verdict = asyncio.run(files.ask(files.python("def hook_(payload, ctx):\n    ctx.state['x'] = {1, 2}")))

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith("ctx.state is no JSON object")


def test_an_entry_may_ask_a_plugin_at_some_of_its_points_and_in_another_manner(files: HookFiles) -> None:
    files.module("counter.py", COUNTER)
    entry = files.entry("counter", on=[POST.value], python="counter.py:Counter", mode="audit", priority=7)
    pipeline = files.pipeline(entry)

    async def listening() -> list[Any]:
        await pipeline.open()
        found = [(each.name, each.point, each.mode, each.priority) for p in HookType for each in pipeline.listeners(p)]
        await pipeline.close()
        return found

    assert asyncio.run(listening()) == [("counter.after", POST, "audit", 7)]


def test_priority_is_that_of_the_set_then_the_hook_then_the_class(files: HookFiles) -> None:
    class Classed(Plugin):
        priority = 20

        @hook(PRE)
        def by_class(self, payload: Any) -> None: ...

        @hook(PRE, priority=10)
        def by_hook(self, payload: Any) -> None: ...

    @hook(PRE)
    def plain(payload: Any) -> None: ...

    def order(*plugins: Any) -> list[tuple[str, int]]:
        async def listening() -> list[tuple[str, int]]:
            pipeline = files.pipeline(plugins=plugins)
            await pipeline.open()
            found = [(each.name, each.priority) for each in pipeline.listeners(PRE)]
            await pipeline.close()
            return found

        return asyncio.run(listening())

    assert order(plain, Classed) == [("Classed.by_hook", 10), ("Classed.by_class", 20), ("plain", 50)]
    assert order(PluginSet(plain, Classed, name="all", priority=5)) == [
        ("all.plain", 5),
        ("all.Classed.by_class", 5),
        ("all.Classed.by_hook", 5),
    ]


def test_two_closures_and_two_instances_are_two_hooks_each(files: HookFiles) -> None:
    def adding(name: str) -> Any:
        @hook(PRE)
        def added(payload: Any) -> Any:
            return modify(model_options={**payload.model_options, name: 1})

        return added

    class Naming(Plugin):
        def __init__(self, name: str) -> None:
            self.name = name

        @hook(PRE)
        async def named(self, payload: Any, ctx: Any) -> Any:
            ctx.state["name"] = self.name
            return modify(model_options={**payload.model_options, self.name: 2})

    plugins = [adding("a"), adding("b"), Naming("c"), Naming("d")]
    (verdict,) = asyncio.run(through(files.pipeline(plugins=plugins), PRE))

    assert verdict.changes == {"model_options": {"temperature": 1, "a": 1, "b": 1, "c": 2, "d": 2}}
    assert verdict.decided is not None
    decisions = verdict.decided.decisions
    assert [(decision.plugin, decision.origin) for decision in decisions] == [
        ("added", "program"),
        ("added-2", "program"),
        ("Naming", "program"),
        ("Naming-2", "program"),
    ]
    assert [decision.state and decision.state.value for decision in decisions[2:]] == [{"name": "c"}, {"name": "d"}]


class _NoHooks(Plugin):
    """Nothing in it is declared."""


class _NeedsMore(Plugin):
    def __init__(self, path: str) -> None: ...

    @hook(PRE)
    def f(self, payload: Any) -> None: ...


def _three(a: Any, b: Any, c: Any) -> None: ...


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (3, "A value of type int is no hook"),
        (_NoHooks, "_NoHooks is a Plugin without a hook"),
        (_NeedsMore, "_NeedsMore cannot be made"),
        (lambda: None, "<lambda> takes 0 arguments"),
        (_three, "_three takes 3 arguments"),
    ],
)
def test_a_registration_with_one_mistake_registers_nothing(files: HookFiles, item: Any, said: str) -> None:
    opened = []

    class Fine(Plugin):
        def open(self) -> None:
            opened.append(self)

        @hook(PRE)
        def f(self, payload: Any) -> None: ...

    with pytest.raises(UsageError, match=said):
        files.pipeline(plugins=[Fine, item])
    with pytest.raises(UsageError, match=said):
        PluginSet(Fine, item)
    assert opened == []


def test_a_function_that_declares_no_point_fails_wherever_it_might_have_been_asked(files: HookFiles) -> None:
    entry = files.python("return None", on=[])

    verdict = asyncio.run(files.ask(entry))

    assert outcomes(verdict) == ["error"]
    assert "does not say where it is to be asked" in reason(verdict)


LIFE = """
class Life(Plugin):
    {async_}def open(self):
        with open("opened", "a") as file:
            file.write("o")
        {open_}
    @hook(HookType.COMPONENT_PRE_EXECUTE)
    def f(self, payload):
        {body}
    {async_}def close(self):
        with open("closed", "a") as file:
            file.write("c")
        {close_}
"""


@pytest.mark.parametrize("async_", ["", "async "])
@pytest.mark.parametrize("body", ["return None", "return block('no')", "raise RuntimeError"])
def test_a_plugin_is_opened_once_and_closed_on_every_path(
    files: HookFiles, monkeypatch: pytest.MonkeyPatch, async_: str, body: str
) -> None:
    monkeypatch.chdir(files.directory)
    files.module("life.py", LIFE.format(async_=async_, open_="", body=body, close_=""))

    asyncio.run(through(files.pipeline(files.entry("life", on=[], python="life.py:Life")), PRE, PRE))

    assert (files.directory / "opened").read_text() == "o"
    assert (files.directory / "closed").read_text() == "c"


def test_a_plugin_that_cannot_be_opened_has_failed_and_the_others_have_not(
    files: HookFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files.directory)
    files.module("life.py", LIFE.format(async_="", open_="raise RuntimeError('no disk')", body="pass", close_=""))
    entries = [files.entry("life", on=[], python="life.py:Life"), files.python("return modify(format={})", "other")]

    (verdict,) = asyncio.run(through(files.pipeline(*entries), PRE))

    assert outcomes(verdict) == ["error", "not_run"]
    assert reason(verdict) == "life.open() raised RuntimeError: no disk"


def test_what_goes_wrong_when_closing_is_told(files: HookFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files.directory)
    files.module("life.py", LIFE.format(async_="", open_="", body="pass", close_="raise RuntimeError('busy')"))
    pipeline = files.pipeline(files.entry("life", on=[], python="life.py:Life"))

    async def opened_and_closed() -> list[str]:
        await pipeline.open()
        return await pipeline.close()

    assert asyncio.run(opened_and_closed()) == ["life.close() raised RuntimeError: busy"]


def test_a_plugin_of_one_run_never_sees_another_run(files: HookFiles) -> None:
    """Its class is made anew for each, and so is what it keeps."""
    files.module("counter.py", COUNTER)
    entry = files.entry("counter", on=[], python="counter.py:Counter")

    async def two_runs() -> list[Verdict]:
        one, other = files.pipeline(entry), files.pipeline(entry)
        await one.open()
        await other.open()
        await one.dispatch(dispatch_of(PRE))
        await other.dispatch(dispatch_of(PRE))
        verdicts = [await other.dispatch(dispatch_of(POST))]
        await one.close()
        await other.close()
        return verdicts

    (verdict,) = asyncio.run(two_runs())
    assert reason(verdict).startswith("1 ['before'] ")


def test_a_plugin_of_another_distribution_is_found_by_its_name(
    files: HookFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = files.directory / "acme_policies-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-policies\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[hooks.plugins]\nacme-budget = acme_budget:Budget\n")
    files.module("acme_budget.py", COUNTER.replace("Counter", "Budget"))
    monkeypatch.syspath_prepend(str(files.directory))
    found = files.entry("budget", on=[], python="acme-budget")
    missing = files.entry("missing", on=[PRE.value], python="acme-missing", priority=60)

    (verdict,) = asyncio.run(through(files.pipeline(found, missing), PRE))

    assert outcomes(verdict) == ["allow", "error"]
    assert "no plugin 'acme-missing' is installed (entry points of hooks.plugins; there is: " in reason(verdict, 1)


def test_a_declaration_is_checked_where_it_is_made() -> None:
    with pytest.raises(UsageError, match="names no hook point"):
        hook()
    with pytest.raises(UsageError, match="there is no hook point 'run_start'"):
        hook("run_start")
    with pytest.raises(UsageError, match="hooks of run_finished only look on"):
        hook(HookType.RUN_FINISHED, mode="sequential")
    with pytest.raises(UsageError, match="there is no mode 'auditing'"):
        hook(PRE, mode="auditing")  # type: ignore[call-overload]


def test_block_is_a_block_whoever_says_it(files: HookFiles) -> None:
    @hook("PreToolUse", PRE)
    def no(payload: Any) -> Any:
        return block("no", code="E1", details={"limit": 3})

    (verdict,) = asyncio.run(through(files.pipeline(plugins=[no]), PRE))

    assert verdict.violation is not None
    assert verdict.violation.details == {
        "hook": "component_pre_execute",
        "plugin": "no",
        "reason": "no",
        "code": "E1",
        "details": {"limit": 3},
    }
