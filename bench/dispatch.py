"""What asking hooks costs: a dispatch with no-op and with changing plugins, beside pluggy and a bare loop; and what a
command hook costs beside its process; and whether a long conversation makes asking dearer.

    python bench/dispatch.py [ROUNDS]
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pluggy

from hooks import HookType, hook, modify
from hooks.definition.model import HookEntry
from hooks.kernel.state import Turn
from hooks.pipeline.dispatch import Dispatch, Json, Later, Subject
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.pipeline.payload_parts import context_value, conversation
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.samples import sample_payload

PRE = HookType.COMPONENT_PRE_EXECUTE
SUBJECT = Subject("release-notes", "draft", "AgentStep", agent="writer")
DOCUMENT = sample_payload(PRE)
DRAW = HookType.GENERATION_PRE_CALL
CONVERSATIONS = (20, 200)
COMMANDS = 100
Plugins = list[Callable[[Any], Any]]


def no_ops(count: int, *, is_async: bool) -> Plugins:
    def made() -> Callable[[Any], Any]:
        if is_async:

            @hook(PRE)
            async def no_op_async(payload: Any) -> None: ...

            return no_op_async

        @hook(PRE)
        def no_op(payload: Any) -> None: ...

        return no_op

    return [made() for _ in range(count)]


def changing(count: int) -> Plugins:
    def made(number: int) -> Callable[[Any], Any]:
        @hook(PRE)
        async def change(payload: Any) -> Any:
            return modify(model_options={**payload.model_options, "n": number})

        return change

    return [made(number) for number in range(count)]


async def microseconds(ask: Callable[[], Awaitable[Any]], rounds: int) -> float:
    """The best of five: what else the machine does only ever adds."""
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(rounds):
            await ask()
        best = min(best, (time.perf_counter() - started) / rounds)
    return best * 1e6


def conversing(messages: int) -> Dispatch:
    """The question before a draw that comes after so many messages, made of the turns as a run has them."""
    turn = None
    for number in range(messages // 2):
        turn = Turn(turn, f"And what of {number}? " * 10, f"It is as {number} is. " * 20)
    sample = sample_payload(DRAW)

    def payload() -> dict[str, Json]:
        return {**sample, "context": Later(lambda: context_value(conversation(turn, lambda value: value)))}

    return Dispatch(hook=DRAW, ordinal=1, subject=SUBJECT, payload=payload)


def at_a_draw(*, is_async: bool, looks: bool) -> Plugins:
    if is_async:

        @hook(DRAW)
        async def of_draw_async(payload: Any) -> None:
            _ = looks and payload.prompt

        return [of_draw_async]

    @hook(DRAW)
    def of_draw(payload: Any) -> None:
        _ = looks and payload.prompt

    return [of_draw]


async def through_pipeline(plugins: Plugins, rounds: int, question: Dispatch | None = None) -> float:
    here = Path.cwd()
    pipeline = Pipeline(
        [],
        run_id="r",
        workflow_id="release-notes",
        run_directory=here,
        working_directory=here,
        transcript=here,
        plugins=plugins,
    )
    await pipeline.open()
    asked = question or Dispatch(hook=PRE, ordinal=1, subject=SUBJECT, payload=lambda: DOCUMENT)

    async def ask() -> None:
        if pipeline.listens(HookType(asked.hook), SUBJECT):
            await pipeline.dispatch(asked)

    cost = await microseconds(ask, rounds)
    await pipeline.close()
    return cost


async def through_pluggy(plugins: Plugins, rounds: int) -> float:
    """Sync functions, called one after another; nothing is checked, chained or recorded."""
    spec, impl = pluggy.HookspecMarker("bench"), pluggy.HookimplMarker("bench")

    class Spec:
        @spec
        def component_pre_execute(self, payload: Any) -> None: ...

    manager = pluggy.PluginManager("bench")
    manager.add_hookspecs(Spec)
    for plugin in plugins:

        class Holder:
            @impl
            def component_pre_execute(self, payload: Any, plugin: Callable[[Any], Any] = plugin) -> Any:
                return plugin(payload)

        manager.register(Holder())

    async def ask() -> None:
        manager.hook.component_pre_execute(payload=DOCUMENT)

    return await microseconds(ask, rounds)


async def through_loop(plugins: Plugins, rounds: int) -> float:
    async def ask() -> None:
        for plugin in plugins:
            answer = plugin(DOCUMENT)
            if asyncio.iscoroutine(answer):
                await answer

    return await microseconds(ask, rounds)


async def command_hook(directory: Path) -> tuple[float, float]:
    """Milliseconds of a process that reads its input and says nothing: as a hook, and started bare."""
    script = directory / "no_op.sh"
    script.write_text("#!/bin/sh\nexec cat >/dev/null\n")
    script.chmod(0o755)
    entry = HookEntry(name="no-op", on=[PRE], argv=["./no_op.sh"], declared_in=str(directory / "hooks.yaml"))
    pipeline = Pipeline(
        resolve_hook_set([entry]),
        run_id="r",
        workflow_id="release-notes",
        run_directory=directory,
        working_directory=directory,
        transcript=directory,
    )
    await pipeline.open()
    question = Dispatch(hook=PRE, ordinal=1, subject=SUBJECT, payload=lambda: DOCUMENT)

    async def ask() -> None:
        await pipeline.dispatch(question)

    cost = await microseconds(ask, COMMANDS) / 1000
    await pipeline.close()
    return cost, least_ms(script)


def least_ms(script: Path) -> float:
    """The process alone, as subprocess runs it; the best of five means, as for the hook."""
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(COMMANDS):
            subprocess.run([str(script)], input=b"{}", capture_output=True, check=True)
        best = min(best, (time.perf_counter() - started) / COMMANDS)
    return best * 1000


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    rows: list[tuple[str, Plugins]] = [("nobody listens", [])]
    rows += [(f"{count} no-op, async", no_ops(count, is_async=True)) for count in (1, 10, 50)]
    rows += [(f"{count} no-op, sync", no_ops(count, is_async=False)) for count in (1, 10, 50)]
    rows += [("10 that change a field, async", changing(10))]
    print("| plugins | µs a dispatch | µs each | pluggy | bare loop |\n| --- | --- | --- | --- | --- |")
    for name, plugins in rows:
        times = max(50, rounds // max(1, len(plugins)))
        ours = asyncio.run(through_pipeline(plugins, times))
        is_sync = not any(asyncio.iscoroutinefunction(plugin) for plugin in plugins)
        beside = f"{asyncio.run(through_pluggy(plugins, times)):.2f}" if is_sync else "–"
        loop = asyncio.run(through_loop(plugins, times)) if "change" not in name else None
        bare = "–" if loop is None else f"{loop:.2f}"
        print(f"| {name} | {ours:.1f} | {ours / max(1, len(plugins)):.1f} | {beside} | {bare} |")
    print("\n| one hook before a draw | 20 messages, µs | 200 messages, µs | ratio |\n| --- | --- | --- | --- |")
    for name, plugins in [
        ("no-op, async", at_a_draw(is_async=True, looks=False)),
        ("no-op, sync", at_a_draw(is_async=False, looks=False)),
        ("looks at the prompt, async", at_a_draw(is_async=True, looks=True)),
        ("looks at the prompt, sync", at_a_draw(is_async=False, looks=True)),
    ]:
        few, many = (
            asyncio.run(through_pipeline(plugins, max(50, rounds // 10), conversing(messages)))
            for messages in CONVERSATIONS
        )
        print(f"| {name} | {few:.1f} | {many:.1f} | {many / few:.1f} |")
    with tempfile.TemporaryDirectory() as directory:
        cost, least = asyncio.run(command_hook(Path(directory)))
    print("\n| command hook, ms | its process alone, ms | besides, ms |\n| --- | --- | --- |")
    print(f"| {cost:.2f} | {least:.2f} | {cost - least:.2f} |")


if __name__ == "__main__":
    main()
