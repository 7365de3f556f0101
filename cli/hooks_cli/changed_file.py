"""A run keeps the workflow it began with; whoever goes on with it after editing the file should know that."""

from __future__ import annotations

import os
from pathlib import Path

from hooks.definition.config import load_config
from hooks.definition.load import load_workflow
from hooks.definition.model import revision_id, workflow_to_json
from hooks.errors import DefinitionError, StorageError
from hooks.runtime.runs import OpenRun
from hooks_cli.render.streams import say
from hooks_cli.render.text import neutralise


def warn_of_changed_file(run: OpenRun) -> None:
    """Say so on stderr if the workflow file, or what it takes from the config, is not what the run began with.

    A file that is gone says nothing: the run may have been moved, or its workflow come from stdin.
    """
    created = run.state.created
    if run.state.ended is not None or created is None or created.workflow_file is None:
        return
    file = Path(created.workflow_file)
    if file.is_file() and _revision(file, Path(created.working_directory)) != created.revision_id:
        say(
            f"warning: {neutralise(str(file))} has changed since this run began; {run.run_id} goes on with the "
            "workflow it began with. `hooks run` starts a run of the new one."
        )


def _revision(file: Path, working_directory: Path) -> str | None:
    """What a run started from the file now would record; None if it could not be started."""
    try:
        workflow = load_workflow(file, config=load_config(working_directory, os.environ))
    except (DefinitionError, StorageError):
        return None
    return revision_id(workflow_to_json(workflow))
