"""`sampling:` of an agent step: by which strategy answers are drawn, and how many."""

from __future__ import annotations

from typing import Any

from hooks.definition.cel_text import read_cel_over_output
from hooks.definition.fields import Fields, Keys, describe, did_you_mean, listed, read_fields
from hooks.definition.model import Sampling
from hooks.definition.tree import Mapping, Node, Scalar, Source
from hooks.definition.values import read_choice, read_int, read_text
from hooks.entry_points import registered_names

GROUP = "hooks.strategies"
"""Where other distributions register strategies."""
STRATEGIES = ("rejection", "repair_template", "multi_turn", "best_of", "majority")
MOST_DRAWS = 64

_OF_INDEPENDENT_DRAWS = ("best_of", "majority")
_VOTING = "majority"
_KEYS = Keys(
    "`sampling`",
    frozenset({"strategy", "loop_budget", "on_exhausted", "parallel", "key"}),
    elsewhere={
        "requirements": "it belongs to the step itself, beside `sampling`",
        "model_options": "it belongs to the step itself, beside `sampling`",
        "retry": "it belongs to the step itself, beside `sampling`",
        "max_attempts": "draws are bounded by `loop_budget`; `max_attempts` belongs into `retry` of the step",
        "budget": "here it is `loop_budget`",
        "draws": "here it is `loop_budget`",
        "n": "here it is `loop_budget`",
    },
)


def read_sampling(source: Source, node: Node) -> Sampling | None:
    """How the step samples; None for null (one draw), or if it has a fault, which is reported."""
    if isinstance(node, Scalar) and node.value is None:
        return None
    if not isinstance(node, Mapping):
        written = node.text if isinstance(node, Scalar) and node.text in STRATEGIES else "repair_template"
        source.report(
            node,
            f"`sampling` must be a mapping, but is {describe(node)}",
            f"write {{strategy: {written}, loop_budget: 3}}",
        )
        return None
    fields = read_fields(source, node, _KEYS, "`sampling`")
    if fields is None:
        return None
    before = len(source.problems)
    found: dict[str, Any] = {}
    if (strategy := fields.value("strategy")) is not None:
        found["strategy"] = _read_strategy(source, strategy)
    for name in ("loop_budget", "parallel"):
        if (number := fields.value(name)) is not None:
            found[name] = read_int(source, number, f"`{name}`", least=1, most=MOST_DRAWS)
    if (exhausted := fields.value("on_exhausted")) is not None:
        found["on_exhausted"] = read_choice(source, exhausted, "`on_exhausted`", ("fail", "use_best"))
    if (key := fields.value("key")) is not None:
        found["key"] = read_cel_over_output(source, key, "`key`", example="output.category")
    _check_together(fields, found)
    return Sampling(**found) if len(source.problems) == before else None


def budget_in(node: Node | None) -> Scalar | None:
    """The `loop_budget` of a `sampling` as it is written."""
    for entry in node.entries if isinstance(node, Mapping) else ():
        if _KEYS.canonical(entry.key.text) == "loop_budget" and isinstance(entry.value, Scalar):
            return entry.value
    return None


def _read_strategy(source: Source, node: Node) -> str | None:
    name = read_text(source, node, "`strategy`")
    if name is None or name in STRATEGIES:
        return name
    installed = registered_names(GROUP)
    if name in installed:
        return name
    known = [*STRATEGIES, *installed]
    fix = did_you_mean(name, known) or f"there is: {listed(known)}; others are registered under `{GROUP}`"
    source.report(node, f"there is no strategy `{name}`", fix)
    return None


def _check_together(fields: Fields, found: dict[str, Any]) -> None:
    """What goes with which strategy; of one that is not known there is nothing to say."""
    source = fields.source
    strategy = found.get("strategy", "rejection")
    if strategy is None:
        return
    budget, parallel = found.get("loop_budget", 1), found.get("parallel", 1)
    if strategy in STRATEGIES and strategy not in _OF_INDEPENDENT_DRAWS and parallel and parallel > 1:
        source.report(
            fields.key_place("parallel"),
            f"`parallel` is {parallel}, but `{strategy}` draws again only when it has seen what failed",
            "remove `parallel`, or use `strategy: best_of` or `strategy: majority`",
        )
    if "key" in found and strategy != _VOTING:
        source.report(
            fields.key_place("key"),
            f"`key` says what answers are voted by, and `{strategy}` takes no vote",
            f"remove `key`, or use `strategy: {_VOTING}`",
        )
    if strategy in STRATEGIES and "strategy" in found and budget == 1:
        source.warn(
            fields.mapping,
            f"`{strategy}` with a `loop_budget` of 1 draws once and is done",
            "add `loop_budget: 3`, or remove `sampling`",
        )
