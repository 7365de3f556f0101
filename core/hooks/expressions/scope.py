"""The scope of one run: what its references see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from hooks.expressions.references import (
    IndexReference,
    ItemReference,
    MissingValueError,
    OutputReference,
    ParamReference,
    PreviousReference,
    Reference,
    RunIdReference,
    SecretReference,
    StatusReference,
    UnresolvedReferenceError,
    follow,
)

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Previous:
    """What a node was in the round before this one; `comment` is what the person said who decided on it."""

    output: Json = None
    status: str = ""
    comment: str = ""


_NO_ROUND_BEFORE = Previous()


def _nothing_before(node_id: str) -> Previous | None:
    return None


@dataclass(frozen=True, slots=True)
class RunScope:
    """Looks references up in a run's params and in the outputs of its nodes.

    `output_of` loads an output when it is asked for (it may live in a blob) and raises KeyError for a node that has
    none; `status_of` gives the status of a node, None before it has one. Inside a loop both know the nodes of the
    round and those outside, and `previous_of` gives what a node was a round ago, None in the first. `index` and `item`
    are those of a fan-out; without one `index` is None.
    """

    run_id: str
    params: Mapping[str, Json]
    node_ids: Collection[str]
    output_of: Callable[[str], Json]
    status_of: Callable[[str], str | None]
    item: Json = None
    index: int | None = None
    previous_of: Callable[[str], Previous | None] = _nothing_before

    def lookup(self, reference: Reference) -> Json:
        """The value of `reference`. Raises UnresolvedReferenceError, naming what there is instead."""
        match reference:
            case ParamReference(name, path):
                return self._param(name, path)
            case OutputReference(node_id, path):
                return self._output(node_id, path)
            case StatusReference(node_id):
                return self._status(node_id)
            case RunIdReference():
                return self.run_id
            case ItemReference(path):
                return follow(self._of_fan_out(self.item, "item"), "item", path)
            case IndexReference():
                return self._of_fan_out(self.index, "index")
            case PreviousReference():
                return self._previous(reference)
            case SecretReference(name):
                # Its value is put in by `fill_secrets`, after everything that is written down has been written.
                raise UnresolvedReferenceError(f"secrets.{name}", "a secret can only stand in env and executor input")
            case _:
                assert_never(reference)

    def _param(self, name: str, path: tuple[str | int, ...]) -> Json:
        if name not in self.params:
            given = ", ".join(self.params) or "none"
            raise MissingValueError(f"params.{name}", f"this param was not given and has no default (given: {given})")
        return follow(self.params[name], f"params.{name}", path)

    def _output(self, node_id: str, path: tuple[str | int, ...]) -> Json:
        try:
            output = self.output_of(node_id)
        except KeyError as error:
            raise MissingValueError(f"{node_id}.output", "the node has no output") from error
        return follow(output, f"{node_id}.output", path)

    def _status(self, node_id: str) -> str:
        status = self.status_of(node_id)
        if status is None:
            raise MissingValueError(f"{node_id}.status", "the node has not ended yet")
        return status

    def _of_fan_out(self, value: Json, name: str) -> Json:
        if self.index is None:
            raise UnresolvedReferenceError(name, "the node has no for_each")
        return value

    def _previous(self, reference: PreviousReference) -> Json:
        previous = self.previous_of(reference.node_id) or _NO_ROUND_BEFORE
        match reference.field:
            case "status":
                return previous.status
            case "comment":
                return previous.comment
            case "output" if previous.output is None:
                # Before the first round, and after one that skipped the node, every part of the output is null.
                return None
            case "output":
                return follow(previous.output, f"{reference.node_id}.previous.output", reference.path)
            case _:
                assert_never(reference.field)
