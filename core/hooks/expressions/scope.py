"""The scope of one run: what its references see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from hooks.expressions.references import (
    MissingValueError,
    OutputReference,
    ParamReference,
    Reference,
    RunIdReference,
    StatusReference,
    follow,
)

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class RunScope:
    """Looks references up in a run's params and in the outputs of its nodes.

    `output_of` loads an output when it is asked for (it may live in a blob) and raises KeyError for a node that has
    none; `status_of` gives the status of a node, None before it has one.
    """

    run_id: str
    params: Mapping[str, Json]
    node_ids: Collection[str]
    output_of: Callable[[str], Json]
    status_of: Callable[[str], str | None]

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
