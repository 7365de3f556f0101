"""CEL behind one small module."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from hooks.expressions.cel import MAX_LENGTH, CelError, compile_expression, evaluate

OUTPUT = {"title": "short", "items": [1, 2, 3], "none": None}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("size(output.title) <= 60", True),
        ("output.none == null", True),
        ("output.items.filter(x, x > 1)", [2, 3]),
        ("output.items.exists(x, x == 3) && has(output.title)", True),
        ('{"a": output.items[0]}', {"a": 1}),
        ("1.5", 1.5),
    ],
)
def test_an_expression_gives_json(text: str, value: Any) -> None:
    assert evaluate(compile_expression(text), {"output": OUTPUT}) == value


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("size(output", 1, 12),
        ("1 +\n\n  ) 2", 3, 3),
        ("size(${a.output}) > 1", 1, 6),
        ("true &&\n ${x}", 2, 2),
        ("", 1, 1),
        ("[" * 9_000, 1, None),
        ("x" * (MAX_LENGTH + 1), 1, 1),
    ],
)
def test_what_does_not_compile_has_a_place(text: str, line: int, column: int | None) -> None:
    with pytest.raises(CelError) as caught:
        compile_expression(text)
    assert caught.value.line == line
    assert column is None or caught.value.column == column
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "nothing.there",
        "output.missing",
        "1 / 0",
        '"a" > 1',
        "output.items[9]",
        "nofunction(1)",
        'duration("1s")',
        "1.0 / 0.0",
    ],
)
def test_what_cannot_be_evaluated_is_an_error_and_not_false(text: str) -> None:
    program = compile_expression(text)

    with pytest.raises(CelError):
        evaluate(program, {"output": OUTPUT})


def test_the_library_comes_without_its_command_line() -> None:
    code = (
        "import sys; from hooks.expressions.cel import compile_expression, evaluate;"
        "before = 'cel.cel' in sys.modules; evaluate(compile_expression('1 + 1'), {});"
        "print(before, sorted({'rich', 'asyncio', 'prompt_toolkit', 'typer'} & set(sys.modules)))"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False []\n"
