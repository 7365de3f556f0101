"""`hooks validate FILE…`: every problem of every file, before anything runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from hooks.definition.config import Config, load_config
from hooks.definition.load import load_workflow
from hooks.definition.model import Workflow
from hooks.definition.source import MAX_BYTES
from hooks.errors import DefinitionError, Problem, UsageError
from hooks_cli.failures import error_text, problem_document, warning_text
from hooks_cli.options import AsJson
from hooks_cli.render.streams import emit, emit_json, say


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Workflow files; - is stdin.")],
    as_json: AsJson = False,
) -> int:
    """Check workflow files and print every problem of all of them.

    The files they name are looked for as well. What may be otherwise where the run will be, such as a program that is
    not in PATH here, is a warning.
    """
    config = load_config(Path.cwd(), os.environ, check_files=True)
    reports = [_check(file, config) for file in files]
    code = UsageError.exit_code if any(report.error for report in reports) else 0
    if as_json:
        documents = [_document(report) for report in reports]
        emit_json({"schema": "hooks.validate/1", "valid": code == 0, "exit_code": code, "files": documents})
    else:
        for report in reports:
            _tell(report)
    return code


def read_workflow_file(file: str, config: Config, warn: Callable[[Problem], None] | None = None) -> Workflow:
    """The checked workflow of `file`, or of stdin for `-`. Raises DefinitionError with all problems."""
    if file == "-":
        text, path, name = sys.stdin.buffer.read(MAX_BYTES + 1), Path.cwd() / "stdin", "<stdin>"
        return load_workflow(path, text=text, config=config, name=name, check_files=True, warn=warn)
    return load_workflow(Path(file), config=config, check_files=True, warn=warn)


@dataclass(slots=True)
class _Report:
    """What checking one file came to."""

    file: str
    warnings: list[Problem] = field(default_factory=list)
    workflow: Workflow | None = None
    error: DefinitionError | None = None


def _check(file: str, config: Config) -> _Report:
    report = _Report(file)
    try:
        report.workflow = read_workflow_file(file, config, report.warnings.append)
    except DefinitionError as error:
        report.error = error
    return report


def _tell(report: _Report) -> None:
    for warning in report.warnings:
        say(warning_text(warning))
    if report.error is not None:
        say(error_text(report.error))
    elif report.workflow is not None:
        emit(f"{report.file}: ok: {report.workflow.workflow_id}, {len(report.workflow.nodes)} nodes\n")


def _document(report: _Report) -> dict[str, object]:
    workflow, error = report.workflow, report.error
    return {
        "file": report.file.encode("utf-8", "backslashreplace").decode(),
        "valid": error is None,
        "workflow_id": workflow and workflow.workflow_id,
        "nodes": len(workflow.nodes) if workflow else None,
        "problems": [] if error is None else [problem_document(problem) for problem in error.problems],
        "warnings": [problem_document(warning) for warning in report.warnings],
    }
