"""The hooks that hold for a run whoever goes on with it, and wherever: what it lacks of them is added to it.

The config of a run is that of the directory it was begun in, as it is now, over the user's: `tick --all` of a cron job
stands somewhere else, and the policies of a project are about its runs. A config that cannot be read stops the command
with what `hooks run` would say. Nothing has been done to the run then, and nobody can say whether what could not be
read would have stopped it; once it is put right the run goes on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hooks.definition.config import load_config, load_hooks_file
from hooks.definition.model import HookEntry
from hooks.events.payloads import RunCreated
from hooks.storage.run_directory import RunDirectory


def hooks_of_flags(files: Sequence[Path] | None) -> list[HookEntry]:
    """The hooks of the files given with --hooks. Raises DefinitionError, also for files that those name."""
    return [entry for path in files or [] for entry in load_hooks_file(path, check_files=True)]


def later_hooks(directory: RunDirectory, of_flags: Sequence[HookEntry] = ()) -> list[HookEntry]:
    """The hooks of the run's config now, and those given with --hooks. Raises DefinitionError.

    A file that a hook of a config names may be missing: that is a failure of the hook, where it is asked.
    """
    first = directory.first_event()
    if first is None or not isinstance(first.payload, RunCreated):
        return [*of_flags]  # whoever opens it says what is wrong with it
    return [*load_config(Path(first.payload.working_directory), os.environ).hooks, *of_flags]
