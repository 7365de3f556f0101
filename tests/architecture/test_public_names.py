"""The facade `hooks`: what it offers at run time and what it tells type checkers are the same names."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import hooks
from hooks import _DEFINED_IN

TESTS = Path(__file__).parents[1]


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
        _ = hooks.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(_DEFINED_IN))
def test_a_public_name_says_what_it_is(name: str) -> None:
    """A class or function of its own docstring; an alias has a text below it."""
    value = getattr(hooks, name)
    if isinstance(value, type) or (callable(value) and hasattr(value, "__code__")):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")  # what a dataclass makes up
        return
    module = import_module(_DEFINED_IN[name])
    body = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
    [following] = [
        body[position + 1]
        for position, statement in enumerate(body)
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == name
    ]
    assert isinstance(following, ast.Expr)
    assert isinstance(following.value, ast.Constant)


def test_every_public_name_is_checked_as_others_use_it() -> None:
    """tests/typing uses each of them; mypy checks these files."""
    text = "".join(file.read_text(encoding="utf-8") for file in (TESTS / "typing").glob("*.py"))

    assert [name for name in _DEFINED_IN if not re.search(rf"\b{name}\b", text)] == []
