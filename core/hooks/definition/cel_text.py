"""CEL in a definition: compiled where it is read, its faults reported with their line and column in the file."""

from __future__ import annotations

from hooks.definition.fields import describe, did_you_mean
from hooks.definition.tree import Node, Scalar, Source
from hooks.expressions.cel import CelError, compile_expression
from hooks.expressions.conditions import ALWAYS, FUNCTIONS, CallUse, uses_in

OUTPUT = "output"
_CHECK_FUNCTIONS = FUNCTIONS - {ALWAYS}


def read_cel(source: Source, node: Node, what: str, *, example: str) -> str | None:
    """The expression, if it compiles; `example` is one that could stand there."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        source.report(node, f"{what} must be CEL, but is {describe(node)}", f"write it like `{example}`")
        return None
    try:
        compile_expression(node.value)
    except CelError as error:
        fix = None if "${" in node.value else f"write CEL, such as `{example}`"
        source.report(source.verbatim_offset(node, _offset(node.value, error)), f"{what}: {error.message}", fix)
        return None
    return node.value


def read_cel_over_output(source: Source, node: Node, what: str, *, example: str) -> str | None:
    """An expression that sees an answer, as `output`, and nothing else."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and "${" in node.value:
        at = source.offset_in(node, node.value, node.value.index("${"))
        source.report(at, f"{what}: `${{…}}` does not belong into CEL", f"name the answer itself: `{example}`")
        return None
    text = read_cel(source, node, what, example=example)
    if text is None:
        return None
    before = len(source.problems)
    assert isinstance(node, Scalar), "read_cel has seen a text"
    for use in uses_in(text):
        if isinstance(use, CallUse):
            if use.name not in _CHECK_FUNCTIONS:
                place = source.verbatim_offset(node, use.offset)
                fix = did_you_mean(use.name, _CHECK_FUNCTIONS)
                source.report(place, f"{what}: there is no function `{use.name}`", fix)
        elif use.is_quoted or use.name != OUTPUT:
            _report_unknown_name(source, node, use.offset, what, "nodes" if use.is_quoted else use.name)
    return text if len(source.problems) == before else None


def _report_unknown_name(source: Source, node: Scalar, offset: int, what: str, name: str) -> None:
    fix = did_you_mean(name, [OUTPUT]) or f"it sees the answer alone, as `{OUTPUT}`: `{OUTPUT}.title`"
    source.report(source.verbatim_offset(node, offset), f"{what}: there is no `{name}` here", fix)


def _offset(text: str, error: CelError) -> int:
    line_start = sum(len(line) + 1 for line in text.split("\n")[: error.line - 1])
    return line_start + error.column - 1
