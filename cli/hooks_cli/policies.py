"""The hooks a command is about: those of config, of a workflow file, of --hooks files, or those a run has pinned."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hooks.definition.config import load_config, load_hooks_file
from hooks.definition.model import HookEntry
from hooks.errors import UsageError
from hooks.events.payloads import HookSetMember
from hooks.pipeline.hook_set import members_as_declared
from hooks.pipeline.inspection import faults_before_asking
from hooks.pipeline.pipeline import Pipeline
from hooks_cli.commands.validate import read_workflow_file


@dataclass(frozen=True, slots=True)
class Policies:
    """Hooks, as declared or as pinned, and whose they are."""

    members: list[HookSetMember]
    workflow_id: str
    is_pinned: bool = False

    def pipeline(self, *, run_id: str, run_directory: Path, working_directory: Path, transcript: Path) -> Pipeline:
        """A pipeline of these hooks, to be opened."""
        return Pipeline(
            self.members,
            run_id=run_id,
            workflow_id=self.workflow_id,
            run_directory=run_directory,
            working_directory=working_directory,
            transcript=transcript,
        )


def declared_policies(file: str | None, hooks: Sequence[Path] = ()) -> Policies:
    """The hooks of config, of the workflow `file` and of `hooks` files. Raises DefinitionError for what is no hook;
    a file that is missing is none of that: it is there to be told."""
    config = load_config(Path.cwd(), os.environ)
    entries: list[HookEntry] = [*config.hooks]
    workflow_id = "sample"
    if file is not None:
        workflow = read_workflow_file(file, config)
        entries += workflow.hooks
        workflow_id = workflow.workflow_id
    for path in hooks:
        entries += load_hooks_file(path)
    return Policies(members_as_declared(entries), workflow_id)


async def faults_of(policies: Policies) -> list[tuple[HookSetMember, str]]:
    """The hooks that could not be asked, and why. Loads those in Python, which runs their modules."""
    here = Path.cwd()
    pipeline = policies.pipeline(
        run_id="", run_directory=here, working_directory=here, transcript=here / "events.jsonl"
    )
    await pipeline.open()
    try:
        return faults_before_asking(pipeline, policies.members)
    finally:
        await pipeline.close()


def named(policies: Policies, name: str) -> HookSetMember:
    """The one hook of that name, or of which `name` names a part. Raises UsageError for none or several."""
    found = [member for member in policies.members if member.name == name]
    found = found or [member for member in policies.members if name.startswith(f"{member.name}.")]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{member.origin} ({member.declared_in})" for member in found)
        raise UsageError(f"Several hooks are named {name!r}: {places}.", fix="Give them different names.")
    known = ", ".join(dict.fromkeys(member.name for member in policies.members)) or "none"
    raise UsageError(
        f"There is no hook {name!r}; there is: {known}.",
        fix="Name the file that declares it: --workflow FILE or --hooks FILE; config is read anyway.",
    )
