"""Which place of a run a NODE word means: a node, `node[i]`, `loop.n/node`, or an activity id.

What may be meant depends on the command (open gates, effects in doubt, attempts with logs, …), so each says what it
offers; where several of these match and one is needed, the answer is the list of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from hooks.errors import NotFoundError
from hooks.kernel.state import RunState
from hooks.runtime.node_names import means, name_in_id

_Place = TypeVar("_Place")
_MOST_NAMED = 10


def pick(state: RunState, word: str, offered: Mapping[str, _Place], *, what: str) -> _Place | None:
    """The one of `offered` (by name) that `word` means, or None if it means none of them.

    Raises NotFoundError when it means several, and when the run has no such node at all; `what` names one that is
    offered ("open gates").
    """
    name = name_in_id(word)
    if name in offered:
        return offered[name]
    matches = [place for place in offered if means(name, place)]
    if len(matches) == 1:
        return offered[matches[0]]
    if matches:
        raise _ambiguous(state, f"{word!r} means {len(matches)} {what} of run {state.run_id}", matches)
    require_node(state, name)
    return None


def only_one(state: RunState, offered: Mapping[str, _Place], *, what: str) -> _Place | None:
    """The only one of `offered`, None if there is none. Raises NotFoundError naming them when there are several."""
    if len(offered) > 1:
        raise _ambiguous(state, f"Run {state.run_id} has {len(offered)} {what}", list(offered))
    return next(iter(offered.values()), None)


def require_node(state: RunState, word: str) -> None:
    """Raise NotFoundError, with what is close to it, unless the run's workflow has the node that `word` names."""
    known = [*_node_ids(state)]
    node_id = word.rpartition("/")[2].partition("[")[0]
    if node_id in known:
        return
    close = get_close_matches(node_id, known, n=1)
    fix = f"Did you mean `{close[0]}`?" if close else f"It has: {_some(known)}"
    raise NotFoundError(f"Run {state.run_id} has no node {word!r}.", fix=fix, run=state.run_id)


def _node_ids(state: RunState) -> Iterable[str]:
    yield from state.graph.position
    for body in state.graph.bodies.values():
        yield from body.position


def _ambiguous(state: RunState, begin: str, names: list[str]) -> NotFoundError:
    return NotFoundError(f"{begin}: {_some(names)}.", fix="Name one of them in full.", run=state.run_id)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
