"""Which agent a declaration stands for."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from hooks.agents.base import Agent
from hooks.agents.command import CommandAgentProcess
from hooks.agents.python import PythonAgentCallable
from hooks.definition.model import AgentDeclaration, CommandAgent, PythonAgent


def make_agent(declaration: AgentDeclaration, workflow_directory: Path) -> Agent:
    """The agent declared; relative files of the declaration are looked for from the workflow's directory.

    Nothing is loaded or started before the first prompt. Raises UsageError for a path that is none.
    """
    match declaration:
        case CommandAgent():
            return CommandAgentProcess(declaration, workflow_directory)
        case PythonAgent():
            return PythonAgentCallable(declaration, workflow_directory)
        case _:
            assert_never(declaration)
