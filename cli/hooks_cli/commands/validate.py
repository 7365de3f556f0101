"""`hooks validate FILE…`: every problem of every file, before anything runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hooks.definition.config import Config, load_config
from hooks.definition.load import load_workflow
from hooks.definition.model import Workflow, every_node
from hooks.definition.source import MAX_BYTES
from hooks.errors import DefinitionError, Problem, UsageError
from hooks_cli.failures import error_text, problem_document, warning_text
from hooks_cli.options import AsJson
from hooks_cli.render.streams import emit, emit_json, say


@dataclass(frozen=True, slots=True)
class FileReport:
    """What checking one file says: a workflow or an error, and what is hardly meant."""

    file: str
    workflow: Workflow | None
    error: DefinitionError | None
    warnings: list[Problem]


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
            _print(report)
    return code


def read_workflow_file(file: str, config: Config, *, warn: Callable[[Problem], None] | None = None) -> Workflow:
    """The checked workflow of `file`, or of stdin for `-`. Raises DefinitionError with all problems."""
    if file == "-":
        text, path, name = sys.stdin.buffer.read(MAX_BYTES + 1), Path.cwd() / "stdin", "<stdin>"
        return load_workflow(path, text=text, config=config, name=name, check_files=True, warn=warn)
    return load_workflow(Path(file), config=config, check_files=True, warn=warn)


def _check(file: str, config: Config) -> FileReport:
    warnings: list[Problem] = []
    try:
        return FileReport(file, read_workflow_file(file, config, warn=warnings.append), None, warnings)
    except DefinitionError as error:
        return FileReport(file, None, error, warnings)


def _print(report: FileReport) -> None:
    for warning in report.warnings:
        say(warning_text(warning))
    if report.error is not None:
        say(error_text(report.error))
    elif report.workflow is not None:
        count = sum(1 for _ in every_node(report.workflow))
        emit(f"{report.file}: ok: {report.workflow.workflow_id}, {count} nodes\n")


def _document(report: FileReport) -> dict[str, object]:
    workflow = report.workflow
    return {
        "file": report.file.encode("utf-8", "backslashreplace").decode(),
        "valid": report.error is None,
        "workflow_id": workflow and workflow.workflow_id,
        "nodes": sum(1 for _ in every_node(workflow)) if workflow else None,
        "problems": [problem_document(problem) for problem in report.error.problems] if report.error else [],
        "warnings": [problem_document(warning) for warning in report.warnings],
    }
