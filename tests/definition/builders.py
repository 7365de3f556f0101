"""Workflow files as tests write them, and what loading them says."""

from __future__ import annotations

from pathlib import Path

from hooks.definition.config import Config
from hooks.definition.load import load_workflow
from hooks.definition.model import Workflow
from hooks.errors import DefinitionError, Problem

HEAD = "workflow_id: w\n"
ONE_NODE = "nodes:\n  a: {executor: shell, input: {argv: [echo, hello]}}\n"


def load(text: str | bytes, *, file: str = "w.yaml", config: Config | None = None) -> Workflow:
    """The workflow that `text` declares."""
    return load_workflow(Path(file), text=text.encode() if isinstance(text, str) else text, config=config)


def problems(text: str | bytes, *, file: str = "w.yaml", config: Config | None = None) -> list[Problem]:
    """The problems of `text`; it must have some."""
    try:
        load(text, file=file, config=config)
    except DefinitionError as error:
        return error.problems
    raise AssertionError("the workflow was accepted")


def problem(text: str | bytes, *, file: str = "w.yaml", config: Config | None = None) -> Problem:
    """The one problem of `text`."""
    found = problems(text, file=file, config=config)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def warnings(text: str) -> list[Problem]:
    """What loading `text`, which is accepted, warns of."""
    found: list[Problem] = []
    load_workflow(Path("w.yaml"), text=text.encode(), warn=found.append)
    return found


def node(body: str, *, head: str = "") -> str:
    """A workflow with the node `a`, given in flow style."""
    return f"{HEAD}{head}nodes:\n  a: {body}\n"
