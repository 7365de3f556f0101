"""The facade `hooks`: what it offers at run time and what it tells type checkers are the same names."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import hooks
from hooks import _DEFINED_IN


def test_type_checkers_are_told_of_every_name() -> None:
    tree = ast.parse(Path(hooks.__file__).read_text(encoding="utf-8"))
    told = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }

    assert told == _DEFINED_IN


@pytest.mark.parametrize("name", sorted(_DEFINED_IN))
def test_a_public_name_is_what_its_module_defines(name: str) -> None:
    assert getattr(hooks, name) is getattr(import_module(_DEFINED_IN[name]), name)
    assert name in dir(hooks)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hooks.nonsense
