"""`hooks validate FILE…`: every problem of every file, before anything runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from hooks.definition.config import Config, load_config
from hooks.definition.load import load_workflow
from hooks.definition.model import Workflow
from hooks.definition.source import MAX_BYTES
from hooks.errors import DefinitionError, UsageError
from hooks_cli.failures import error_text, problem_document
from hooks_cli.options import AsJson
from hooks_cli.render.streams import emit, emit_json, say


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Workflow files; - is stdin.")],
    as_json: AsJson = False,
) -> int:
    """Check workflow files and print every problem of all of them."""
    config = load_config(Path.cwd(), os.environ)
    reports = [_check(file, config) for file in files]
    code = UsageError.exit_code if any(error for _, _, error in reports) else 0
    if as_json:
        documents = [_document(*report) for report in reports]
        emit_json({"schema": "hooks.validate/1", "valid": code == 0, "exit_code": code, "files": documents})
    else:
        for file, workflow, error in reports:
            if error is not None:
                say(error_text(error))
            elif workflow is not None:
                emit(f"{file}: ok: {workflow.workflow_id}, {len(workflow.nodes)} nodes\n")
    return code


def read_workflow_file(file: str, config: Config) -> Workflow:
    """The checked workflow of `file`, or of stdin for `-`. Raises DefinitionError with all problems."""
    if file == "-":
        return load_workflow(
            Path.cwd() / "stdin", text=sys.stdin.buffer.read(MAX_BYTES + 1), config=config, name="<stdin>"
        )
    return load_workflow(Path(file), config=config)


def _check(file: str, config: Config) -> tuple[str, Workflow | None, DefinitionError | None]:
    try:
        return file, read_workflow_file(file, config), None
    except DefinitionError as error:
        return file, None, error


def _document(file: str, workflow: Workflow | None, error: DefinitionError | None) -> dict[str, object]:
    return {
        "file": file.encode("utf-8", "backslashreplace").decode(),
        "valid": error is None,
        "workflow_id": workflow and workflow.workflow_id,
        "nodes": len(workflow.nodes) if workflow else None,
        "problems": [] if error is None else [problem_document(problem) for problem in error.problems],
    }
