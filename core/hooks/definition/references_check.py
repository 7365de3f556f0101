"""References of a workflow, checked before anything runs: that each names something, and may be read where it stands.

Dependencies are explicit: what a step reads must be among its ancestors. A body sees its own nodes upstream, the nodes
upstream of its loop, and any of its nodes a round ago; from outside nobody sees into a body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hooks.definition.dependencies_check import dependencies_by_scope
from hooks.definition.executor_inputs import OUTPUT_KEYS
from hooks.definition.fields import did_you_mean, listed
from hooks.definition.loops_check import LoopOf
from hooks.definition.model import Param
from hooks.definition.nodes_section import DeclaredNode
from hooks.definition.reference_places import FoundReference, ReferencePlaces
from hooks.definition.tree import Scalar, Source
from hooks.definition.tree import Sequence as SequenceNode
from hooks.definition.upstream import Use, not_upstream
from hooks.expressions.references import (
    IndexReference,
    ItemReference,
    OutputReference,
    ParamReference,
    PreviousReference,
    SecretReference,
    StatusReference,
    Step,
    render_path,
)

DECISION_KEYS = ("approved", "comment", "by")
"""What the output of a decision holds."""


def check_references(
    source: Source, nodes: Sequence[DeclaredNode], params: Mapping[str, Param], loop_of: LoopOf
) -> None:
    """Report every reference that names nothing known, or what cannot be read from where it stands."""
    checker = _Checker(source, {node.id: node for node in nodes}, params, loop_of)
    places = ReferencePlaces(source, {node.id: node for node in nodes})
    for node in nodes:
        for found in places.of(node):
            checker.check(node, found)
    for scope, depends in dependencies_by_scope(nodes, loop_of).items():
        for use in not_upstream(depends, checker.far.get(scope, [])):
            _report_not_upstream(source, use)


class _Checker:
    """Checks one reference after the other; `far` collects those that take a look at the graph, by scope."""

    def __init__(
        self, source: Source, nodes: Mapping[str, DeclaredNode], params: Mapping[str, Param], loop_of: LoopOf
    ) -> None:
        self.far: dict[str | None, list[Use]] = {}
        self._source = source
        self._nodes = nodes
        self._params = params
        self._loop_of = loop_of
        self._direct = {node.id: {name.text for name in node.depends} for node in nodes.values()}

    def check(self, node: DeclaredNode, found: FoundReference) -> None:
        match found.reference:
            case ParamReference() as reference:
                self._check_param(reference, found.place)
            case OutputReference(target, path):
                self._check_path(target, path, found.place)
                self._check_reach(node, target, found)
            case StatusReference(target):
                self._check_reach(node, target, found)
            case PreviousReference(target, field, path):
                if field == "output":
                    self._check_path(target, path, found.place)
                self._check_previous(node, target, found.place)
            case ItemReference() | IndexReference():
                self._check_item(node, found)
            case SecretReference(name):
                self._check_secret(node, name, found)

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

    def _check_reach(self, node: DeclaredNode, target: str, found: FoundReference) -> None:
        own, other = self._loop_of.get(node.id), self._loop_of.get(target)
        if target == node.id:
            if not found.spot.takes_own_output:
                self._source.report(
                    found.place, f"the node `{node.id}` refers to itself", "refer to a node that it depends on"
                )
        elif target == own:
            self._source.report(
                found.place,
                f"`{node.id}` reads from `{own}`, the loop it stands in",
                "what a node of the body gave a round ago is `${NODE.previous.output}`",
            )
        elif other is not None and other != own:
            self._source.report(
                found.place,
                f"`{node.id}` reads from `{target}`, which is in the body of the loop `{other}`",
                f"write `${{{other}.output}}`; a loop's `output: {{from: {target}}}` says which output that is",
            )
        else:
            reader = own if own is not None and other is None else node.id
            if target not in self._direct[reader]:
                use = Use(reader, target, found.place, node.id)
                self.far.setdefault(self._loop_of.get(reader), []).append(use)

    def _check_previous(self, node: DeclaredNode, target: str, place: int) -> None:
        own, other = self._loop_of.get(node.id), self._loop_of.get(target)
        if own is None:
            self._source.report(
                place, f"`{node.id}` is in no loop: there is no previous round", f"write `${{{target}.output}}`"
            )
        elif other != own:
            self._source.report(
                place,
                f"`{target}` is not in the body of `{own}`: it has no previous round",
                f"write `${{{target}.output}}`",
            )

    def _check_item(self, node: DeclaredNode, found: FoundReference) -> None:
        name = "item" if isinstance(found.reference, ItemReference) else "index"
        if node.value("for_each") is None:
            self._source.report(
                found.place, f"`{node.id}` has no `for_each`: there is no `{name}`", "add `for_each:` with a list"
            )
        elif not found.spot.takes_items:
            self._source.report(
                found.place,
                f"`${{{name}}}` does not work in {found.spot.what}, which is there once for all items",
                "use it in the prompt, input, env or cwd",
            )

    def _check_secret(self, node: DeclaredNode, name: str, found: FoundReference) -> None:
        if not found.spot.takes_secrets:
            self._source.report(
                found.place,
                f"a secret in {found.spot.what} would be seen by others",
                "put it into `env:` of the node, or into input that is not recorded, such as headers or stdin",
            )
        elif name not in (names := _secret_names(node)):
            self._source.report(
                found.place,
                f"the secret `{name}` is not listed in `secrets` of `{node.id}`",
                did_you_mean(name, names) or f"add `secrets: [{name}]`",
            )

    def _check_path(self, target: str, path: Sequence[Step], place: int) -> None:
        """That the output of `target` can have such a part, as far as its form is fixed."""
        node = self._nodes[target]
        if path and node.value("for_each") is not None:
            first, *path = path
            if isinstance(first, str):
                self._source.report(
                    place,
                    f"the output of `{target}` is a list, one for each item, and has no `{first}`",
                    f"write `${{{render_path(f'{target}.output', (0, first, *path))}}}`",
                )
                return
        keys = self._output_keys(node)
        if keys is None or not path or path[0] in keys:
            return
        key = str(path[0])
        self._source.report(
            place,
            f"the output of `{target}` has no `{key}`",
            did_you_mean(key, keys) or f"it has {', '.join(keys) or 'nothing'}",
        )

    def _output_keys(self, node: DeclaredNode) -> Sequence[str] | None:
        """The keys of the output of one round, one item; None where they are not known."""
        if node.type == "decision":
            return DECISION_KEYS
        if node.loop is None:
            return OUTPUT_KEYS.get(node.word("executor") or "")
        if node.loop.output_from is not None:
            source = self._nodes.get(node.loop.output_from.text)
            is_plain = source is not None and source.loop is None and source.value("for_each") is None
            return self._output_keys(source) if source is not None and is_plain else None
        decision = self._nodes.get(node.loop.decision.text) if node.loop.decision is not None else None
        return [name.text for name in decision.depends] if decision is not None else None


def _secret_names(node: DeclaredNode) -> list[str]:
    names = node.value("secrets")
    return [item.text for item in names.items if isinstance(item, Scalar)] if isinstance(names, SequenceNode) else []


def _report_not_upstream(source: Source, use: Use) -> None:
    if use.written_in == use.reader:
        message = f"`{use.reader}` reads from `{use.target}`, which it does not depend on"
    else:
        message = f"`{use.written_in}` reads from `{use.target}`, which its loop `{use.reader}` does not depend on"
    source.report(use.place, message, f"add `{use.target}` to depends of `{use.reader}`")
