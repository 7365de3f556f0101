"""A declaration stands for an agent that comes with hooks, or for one of an installed kind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.agents.builders import ask
from tests.executors.distribution import MODULE, install

from hooks.agents.registry import make_agent
from hooks.definition.model import EntryPointAgent
from hooks.errors import UsageError


def test_an_installed_kind_gets_its_declaration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    declaration = EntryPointAgent(name="loud", entry_point="repeating", settings={"mark": "!"}, model_options=["seed"])

    agent = make_agent(declaration, tmp_path)

    assert ask(agent, tmp_path, "hi").text == "hi!"
    assert agent.honoured_options == {"seed"}


def test_a_kind_that_is_not_installed_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'loud' is of kind 'repeating', which is not installed"):
        make_agent(EntryPointAgent(name="loud", entry_point="repeating"), tmp_path)
