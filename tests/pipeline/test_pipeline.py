"""Who listens where, and what a run without hooks does not pay for."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from hooks.definition.model import HookEntry, HookMatch
from hooks.pipeline.dispatch import Verdict
from tests.pipeline.builders import SUBJECTS, HookFiles, ask_through, dispatch_of


def listening(files: HookFiles, entry: HookEntry) -> list[str]:
    pipeline = files.pipeline(entry)
    return [node for node, subject in SUBJECTS.items() if pipeline.listens("component_pre_execute", subject)]


@pytest.mark.parametrize(
    ("match", "nodes"),
    [
        (HookMatch(), ["draft", "publish"]),
        (HookMatch(node=["d*"]), ["draft"]),
        (HookMatch(node=["D*"]), []),
        (HookMatch(node=["publish", "draft"]), ["draft", "publish"]),
        (HookMatch(executor=["file", "shell"]), ["publish"]),
        (HookMatch(executor=["*"]), ["publish"]),
        (HookMatch(agent=["*"]), ["draft"]),
        (HookMatch(component_type=["Agent*"], node=["publish"]), []),
        (HookMatch(workflow=["notes"], node=["*a*"]), ["draft"]),
        (HookMatch(workflow=["other"]), []),
    ],
)
def test_a_match_is_globs_ored_inside_a_key_and_anded_across(
    files: HookFiles, match: HookMatch, nodes: list[str]
) -> None:
    assert listening(files, files.entry(argv=["true"], match=match)) == nodes


def test_a_hook_of_a_node_listens_to_that_node_alone(files: HookFiles) -> None:
    assert listening(files, files.entry(argv=["true"], origin="node", node_id="draft")) == ["draft"]


def test_a_hook_may_listen_to_several_points(files: HookFiles) -> None:
    pipeline = files.pipeline(files.entry(argv=["true"], on=["component_pre_execute", "component_post_error"]))

    points = ("component_pre_execute", "component_post_success", "component_post_error")
    assert [pipeline.listens(point, SUBJECTS["draft"]) for point in points] == [True, False, True]


def test_what_nobody_listens_to_is_allowed_without_making_a_payload(files: HookFiles) -> None:
    def no_payload() -> dict[str, object]:
        raise AssertionError("nobody asked for it")

    pipeline = files.pipeline(files.entry(argv=["false"], match=HookMatch(node=["other"])))
    question = dispatch_of()
    object.__setattr__(question, "payload", no_payload)

    assert asyncio.run(ask_through(pipeline, question)) == Verdict()


def test_a_pipeline_must_be_opened(files: HookFiles) -> None:
    with pytest.raises(RuntimeError, match="not opened"):
        asyncio.run(files.pipeline(files.entry(argv=["true"])).dispatch(dispatch_of()))


def test_hooks_of_several_nodes_are_asked_side_by_side(files: HookFiles) -> None:
    """Each of the two commands waits for the other: asked one after the other, they would wait for ever."""
    entry = files.command(
        'touch "begun-$HOOKS_NODE"\nwhile [ ! -e begun-draft ] || [ ! -e begun-publish ]; do sleep 0.01; done'
    )

    async def both() -> list[Verdict]:
        pipeline = files.pipeline(entry)
        await pipeline.open()
        return list(await asyncio.gather(*(pipeline.dispatch(dispatch_of(node=node)) for node in SUBJECTS)))

    assert asyncio.run(both()) == [Verdict(), Verdict()]


def test_a_run_without_hooks_loads_neither_pydantic_nor_the_chain() -> None:
    script = """
import asyncio, sys
from pathlib import Path
from hooks.pipeline import hook_set, payloads
from hooks.pipeline.dispatch import Subject
from hooks.pipeline.pipeline import Pipeline
here = Path(".")
pipeline = Pipeline([], run_id="r", workflow_id="w", run_directory=here, working_directory=here, transcript=here)
asyncio.run(pipeline.open())
assert not pipeline.listens("component_pre_execute", Subject("w"))
print([name for name in ("pydantic", "jsonschema_rs", "hooks.pipeline.chain") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
