"""References of a workflow, checked before anything runs: that each names something, and that it stands upstream.

Dependencies are explicit: what a step reads must be among its ancestors. Asking for the ancestors of every node
would cost n² for a chain; instead the nodes that are referred to from afar each get a bit, and the bits flow down
the graph once, in batches, so that the memory stays small whatever the workflow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence

import msgspec

from hooks.definition.executor_inputs import OUTPUT_KEYS, template_entries
from hooks.definition.fields import did_you_mean, listed
from hooks.definition.model import Param
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.tree import Mapping, Node, Scalar, Sequence, Source
from hooks.expressions.references import (
    BadReferenceError,
    OutputReference,
    ParamReference,
    Reference,
    StatusReference,
    parse_reference,
)
from hooks.expressions.templates import Placeholder, mark_offsets, parse_template

_BATCH = 4_096
_MOST_STEPS = 2_000_000


class _Use(msgspec.Struct, frozen=True):
    """A node that reads from another one, and where it says so."""

    reader: str
    target: str
    place: int


def check_references(
    source: Source, nodes: AbstractSequence[DeclaredNode], params: AbstractMapping[str, Param]
) -> None:
    """Report every reference that names nothing known, or a node that is not upstream."""
    by_id = {node.id: node for node in nodes}
    references = _References(source, by_id, params)
    far: list[_Use] = []
    for node in nodes:
        direct = {dependency.text for dependency in node.depends}
        for place, reference in references.of(node):
            if not isinstance(reference, OutputReference | StatusReference):
                continue
            target = reference.node_id
            if target == node.id:
                source.report(place, f"the node `{node.id}` refers to itself", "refer to a node that it depends on")
            elif target not in direct:
                far.append(_Use(node.id, target, place))
    for use in _not_upstream(by_id, far):
        source.report(
            use.place,
            f"`{use.reader}` reads from `{use.target}`, which it does not depend on",
            f"add `{use.target}` to depends of `{use.reader}`",
        )


class _References:
    """Finds the references of a node, with their places, and reports those that are none."""

    def __init__(
        self, source: Source, nodes: AbstractMapping[str, DeclaredNode], params: AbstractMapping[str, Param]
    ) -> None:
        self._source = source
        self._nodes = nodes
        self._params = params

    def of(self, node: DeclaredNode) -> Iterator[tuple[int, Reference]]:
        fields = node.fields
        if fields is None:
            return
        prompt, input_ = fields.value("prompt"), fields.value("input")
        if prompt is not None:
            yield from self._in(prompt)
        if isinstance(input_, Mapping):
            for entry in template_entries(input_):
                yield from self._in(entry.value)
        options = fields.value("model_options")
        if options is not None:
            for place, _ in self._in(options):
                self._source.report(place, "references do not work in `model_options`", "write the value itself")

    def _in(self, node: Node) -> Iterator[tuple[int, Reference]]:
        if isinstance(node, Scalar):
            if isinstance(node.value, str) and "${" in node.value:
                yield from self._in_text(node, node.value)
        elif isinstance(node, Sequence):
            for item in node.items:
                yield from self._in(item)
        elif node.get("$ref") is not None:
            yield from self._in_ref_object(node)
        else:
            for entry in node.entries:
                yield from self._in(entry.value)

    def _in_text(self, scalar: Scalar, text: str) -> Iterator[tuple[int, Reference]]:
        offsets = mark_offsets(text)
        try:
            pieces = parse_template(text)
        except BadReferenceError as error:
            self._source.report(scalar, error.message, error.fix)
            return
        for piece in pieces:
            if isinstance(piece, Placeholder):
                place = self._source.offset_in(scalar, text, offsets[piece.ordinal])
                yield from self._parsed(piece.path, place)

    def _in_ref_object(self, node: Mapping) -> Iterator[tuple[int, Reference]]:
        for entry in node.entries:
            if entry.key.text not in ("$ref", "default"):
                self._source.report(
                    entry.key, f"unknown key `{entry.key.text}` beside `$ref`", "only `default` may stand beside it"
                )
        path = node.get("$ref")
        if isinstance(path, Scalar) and isinstance(path.value, str):
            yield from self._parsed(path.value, path.start)
        else:
            self._source.report(path or node, "`$ref` must be the path of a value", "write {$ref: node.output.key}")

    def _parsed(self, path: str, place: int) -> Iterator[tuple[int, Reference]]:
        try:
            reference = parse_reference(path, self._nodes)
        except BadReferenceError as error:
            fix = did_you_mean(error.unknown_node, self._nodes) if error.unknown_node else None
            self._source.report(place, error.message, fix or error.fix)
            return
        if isinstance(reference, ParamReference):
            self._check_param(reference, place)
        elif isinstance(reference, OutputReference):
            self._check_output(reference, place)
        yield place, reference

    def _check_param(self, reference: ParamReference, place: int) -> None:
        param = self._params.get(reference.name)
        if param is None:
            known = f"the params of this workflow: {listed(self._params)}; declare it under `params`"
            fix = did_you_mean(reference.name, self._params) or known
            self._source.report(place, f"unknown param `{reference.name}`", fix)
        elif reference.path and param.type not in ("object", "array"):
            self._source.report(
                place,
                f"the param `{param.name}` is of type {param.type} and has no parts",
                f"write `${{params.{param.name}}}`",
            )

    def _check_output(self, reference: OutputReference, place: int) -> None:
        fields = self._nodes[reference.node_id].fields
        executor = fields.value("executor") if fields is not None else None
        keys = OUTPUT_KEYS.get(executor.text) if isinstance(executor, Scalar) else None
        if keys is None or not reference.path or reference.path[0] in keys:
            return
        key = str(reference.path[0])
        self._source.report(
            place,
            f"the output of `{reference.node_id}` has no `{key}`",
            did_you_mean(key, keys) or f"it has {', '.join(keys)}",
        )


def _not_upstream(nodes: AbstractMapping[str, DeclaredNode], uses: AbstractSequence[_Use]) -> Iterator[_Use]:
    depends = {
        node.id: [d.text for d in node.depends if d.text in nodes and d.text != node.id] for node in nodes.values()
    }
    order = _topological(depends)
    if len(order) < len(depends):
        yield from _not_upstream_by_search(depends, uses)
        return
    targets = list(dict.fromkeys(use.target for use in uses))
    for start in range(0, len(targets), _BATCH):
        bit = {target: 1 << index for index, target in enumerate(targets[start : start + _BATCH])}
        above: dict[str, int] = {}
        for node in order:
            bits = 0
            for dependency in depends[node]:
                bits |= above[dependency] | bit.get(dependency, 0)
            above[node] = bits
        yield from (use for use in uses if use.target in bit and not above[use.reader] & bit[use.target])


def _topological(depends: AbstractMapping[str, AbstractSequence[str]]) -> list[str]:
    """The nodes, dependencies first; those on or behind a cycle are left out."""
    open_count = {node: len(after) for node, after in depends.items()}
    dependants: dict[str, list[str]] = {node: [] for node in depends}
    for node, after in depends.items():
        for dependency in after:
            dependants[dependency].append(node)
    free = deque(node for node, count in open_count.items() if count == 0)
    order = []
    while free:
        node = free.popleft()
        order.append(node)
        for dependant in dependants[node]:
            open_count[dependant] -= 1
            if open_count[dependant] == 0:
                free.append(dependant)
    return order


def _not_upstream_by_search(
    depends: AbstractMapping[str, AbstractSequence[str]], uses: AbstractSequence[_Use]
) -> Iterator[_Use]:
    """The same where there is a cycle, which has to be mended first anyway: as many as a bounded search can tell."""
    steps = 0
    for use in uses:
        seen = {use.reader}
        pending = [use.reader]
        while pending and use.target not in seen:
            fresh = [d for d in depends[pending.pop()] if d not in seen]
            seen.update(fresh)
            pending.extend(fresh)
            steps += len(fresh) + 1
            if steps > _MOST_STEPS:
                return
        if use.target not in seen:
            yield use
