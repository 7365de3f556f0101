"""Which agent a declaration stands for: one that comes with hooks, or one that is installed.

A distribution registers a kind under the entry point group `hooks.agents`: its name, and what makes an agent of a
declaration and the workflow's directory.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from hooks.agents.base import Agent
from hooks.agents.command import CommandAgentProcess
from hooks.agents.declared import DeclaredAgent
from hooks.agents.openai_endpoint import OpenAIEndpoint
from hooks.agents.python import PythonAgentCallable
from hooks.definition.model import AgentDeclaration, CommandAgent, EntryPointAgent, OpenAIAgent, PythonAgent
from hooks.entry_points import load_entry_point
from hooks.errors import UsageError

GROUP = "hooks.agents"


def make_agent(declaration: AgentDeclaration, workflow_directory: Path, own: Agent | None = None) -> Agent:
    """The agent declared; relative files of the declaration are looked for from the workflow's directory.

    `own` answers instead, within the limits of the declaration.

    Of those that come with hooks nothing is loaded or started before the first prompt. Raises UsageError for a path
    that is none, and for a kind that is not installed.
    """
    if own is not None:
        return DeclaredAgent(declaration, own, also_honours=declaration.honoured_options)
    return DeclaredAgent(declaration, _of_kind(declaration, workflow_directory))


def _of_kind(declaration: AgentDeclaration, workflow_directory: Path) -> Agent:
    match declaration:
        case CommandAgent():
            return CommandAgentProcess(declaration, workflow_directory)
        case OpenAIAgent():
            return OpenAIEndpoint(declaration)
        case PythonAgent():
            return PythonAgentCallable(declaration, workflow_directory)
        case EntryPointAgent():
            return _installed(declaration, workflow_directory)
        case _:
            assert_never(declaration)


def _installed(declaration: EntryPointAgent, workflow_directory: Path) -> Agent:
    make = load_entry_point(GROUP, declaration.entry_point)
    if make is None:
        raise UsageError(
            f"The agent {declaration.name!r} is of kind {declaration.entry_point!r}, which is not installed.",
            fix="Install the distribution that registers this kind.",
        )
    agent: Agent = make(declaration, workflow_directory)
    return agent
