"""Where references stand in a node, and that each is one: templates field by field, and the names in its `if`.

What a reference means where it stands (that its node is upstream, that there is an item) is references_check.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from hooks.definition.executor_inputs import is_script, may_hold_secret
from hooks.definition.fields import did_you_mean
from hooks.definition.gate_section import gate_prompt
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.requirements_section import requirement_plain_texts, requirement_templates
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source
from hooks.expressions.cel import MAX_LENGTH
from hooks.expressions.conditions import FUNCTIONS, NODES, CallUse, NameUse, uses_in
from hooks.expressions.references import BadReferenceError, Reference, parse_reference
from hooks.expressions.templates import Placeholder, mark_offsets, parse_template


class Spot(Struct, frozen=True):
    """A kind of place: what it is called, and which references it takes beside those that stand everywhere."""

    what: str
    takes_items: bool = False
    takes_secrets: bool = False
    takes_own_output: bool = False


class FoundReference(Struct, frozen=True):
    """A well-formed reference, and where it stands."""

    reference: Reference
    place: int
    spot: Spot


_PROMPT = Spot("`prompt`", takes_items=True)
_ENV = Spot("`env`", takes_items=True, takes_secrets=True)
_CWD = Spot("`cwd`", takes_items=True)
_NO_REFERENCES = Spot("")
_FOR_EACH = Spot("`for_each`")
_CONDITION = Spot("`if`")
_GATE = Spot("the prompt of a gate")
_GATE_AFTER = Spot("the prompt of a gate", takes_own_output=True)


class ReferencePlaces:
    """Finds the references of a node, and reports those that are none."""

    def __init__(self, source: Source, node_ids: Collection[str]) -> None:
        self._source = source
        self._node_ids = node_ids

    def of(self, node: DeclaredNode) -> Iterator[FoundReference]:
        for value, spot in _templates(node):
            yield from self._in(value, spot)
        condition = node.value("if")
        text = condition.value if isinstance(condition, Scalar) else None
        # What is too long or holds a `${` was refused where it was compiled.
        if isinstance(condition, Scalar) and isinstance(text, str) and "${" not in text and len(text) <= MAX_LENGTH:
            yield from self._in_condition(condition, text)
        for value, what in _plain_values(node):
            for found in self._in(value, _NO_REFERENCES):
                self._source.report(found.place, f"references do not work in {what}", "write the value itself")

    def _in(self, node: Node, spot: Spot) -> Iterator[FoundReference]:
        if isinstance(node, Scalar):
            if isinstance(node.value, str) and "${" in node.value:
                yield from self._in_text(node, node.value, spot)
        elif isinstance(node, Sequence):
            for item in node.items:
                yield from self._in(item, spot)
        elif node.get("$ref") is not None:
            yield from self._in_ref_object(node, spot)
        else:
            for entry in node.entries:
                yield from self._in(entry.value, spot)

    def _in_text(self, scalar: Scalar, text: str, spot: Spot) -> Iterator[FoundReference]:
        offsets = mark_offsets(text)
        try:
            pieces = parse_template(text)
        except BadReferenceError as error:
            self._source.report(scalar, error.message, error.fix)
            return
        for piece in pieces:
            if isinstance(piece, Placeholder):
                place = self._source.offset_in(scalar, text, offsets[piece.ordinal])
                yield from self._parsed(piece.path, place, spot)

    def _in_ref_object(self, node: Mapping, spot: Spot) -> Iterator[FoundReference]:
        for entry in node.entries:
            if entry.key.text not in ("$ref", "default"):
                self._source.report(
                    entry.key, f"unknown key `{entry.key.text}` beside `$ref`", "only `default` may stand beside it"
                )
        path = node.get("$ref")
        if isinstance(path, Scalar) and isinstance(path.value, str):
            yield from self._parsed(path.value, path.start, spot)
        else:
            self._source.report(path or node, "`$ref` must be the path of a value", "write {$ref: node.output.key}")

    def _parsed(self, path: str, place: int, spot: Spot) -> Iterator[FoundReference]:
        try:
            yield FoundReference(parse_reference(path, self._node_ids), place, spot)
        except BadReferenceError as error:
            fix = did_you_mean(error.unknown_node, self._node_ids) if error.unknown_node else None
            self._source.report(place, error.message, fix or error.fix)

    def _in_condition(self, scalar: Scalar, text: str) -> Iterator[FoundReference]:
        reported_to = 0
        for use in uses_in(text):
            place = self._source.verbatim_offset(scalar, use.offset)
            if use.offset < reported_to:
                continue
            if isinstance(use, CallUse):
                self._check_function(use, place)
            elif (dashed := self._dashed_id_at(text, use)) is not None:
                reported_to = use.offset + len(dashed)
                self._source.report(place, f"`{dashed}` is no name in CEL", f'write `{NODES}["{dashed}"].output`')
            else:
                yield from self._named(use, place)

    def _check_function(self, use: CallUse, place: int) -> None:
        if use.name not in FUNCTIONS:
            self._source.report(place, f"`if`: there is no function `{use.name}`", did_you_mean(use.name, FUNCTIONS))

    def _dashed_id_at(self, text: str, use: NameUse) -> str | None:
        """The node id that was meant by a name that goes on with characters CEL takes for operators."""
        if use.is_quoted or use.name in self._node_ids or not text.startswith(f"{use.name}-", use.offset):
            return None
        meant = (name for name in self._node_ids if "-" in name and text.startswith(name, use.offset))
        return max(meant, key=len, default=None)

    def _named(self, use: NameUse, place: int) -> Iterator[FoundReference]:
        if not use.is_quoted and use.name == NODES:
            self._source.report(place, f"`{NODES}` stands for all nodes", f'name one: `{NODES}["NAME"].output`')
        elif not use.is_quoted and use.name in ("params", "run"):
            # `params` alone is a value in CEL: `"x" in params`.
            if use.members or use.name == "run":
                yield from self._parsed(".".join((use.name, *use.members)), place, _CONDITION)
        elif use.name not in self._node_ids:
            fix = did_you_mean(use.name, [*self._node_ids, "params", "run"])
            self._source.report(
                place,
                f"`if`: there is no node `{use.name}`",
                fix or "name a param as `params.x`, a node as `NODE.output`",
            )
        else:
            yield from self._parsed(".".join((use.name, *use.members)), place, _CONDITION)


def _templates(node: DeclaredNode) -> Iterator[tuple[Node, Spot]]:
    for key, spot in (("prompt", _PROMPT), ("for_each", _FOR_EACH), ("env", _ENV), ("cwd", _CWD)):
        if (value := node.value(key)) is not None:
            yield value, spot
    yield from _input_templates(node)
    for value, what in requirement_templates(node.value("requirements")):
        yield value, Spot(what, takes_items=True)
    gate = node.value("human_gate")
    prompt = gate_prompt(gate)
    if prompt is not None:
        stage = gate.get("stage") if isinstance(gate, Mapping) else None
        yield prompt, _GATE_AFTER if isinstance(stage, Scalar) and stage.text == "after" else _GATE


def _plain_values(node: DeclaredNode) -> Iterator[tuple[Node, str]]:
    """What is no template, though it may look like one."""
    if (options := node.value("model_options")) is not None:
        yield options, "`model_options`"
    yield from requirement_plain_texts(node.value("requirements"))


def _input_templates(node: DeclaredNode) -> Iterator[tuple[Node, Spot]]:
    input_ = node.value("input")
    executor = node.word("executor") or ""
    for entry in input_.entries if isinstance(input_, Mapping) else ():
        key = entry.key.text
        if not is_script(executor, key):
            yield entry.value, Spot(f"`{key}`", takes_items=True, takes_secrets=may_hold_secret(executor, key))
