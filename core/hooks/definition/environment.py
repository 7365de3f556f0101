"""What a file may put into the environment of a process: `env`, and the names of `secrets`."""

from __future__ import annotations

import re

from hooks.definition.tree import Mapping, Node, Sequence, Source
from hooks.definition.values import read_text_map, read_texts

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OURS = "HOOKS_"


def read_environment(source: Source, node: Node) -> dict[str, str] | None:
    """Variables and their values, as text."""
    found = read_text_map(source, node, "`env`")
    for entry in node.entries if isinstance(node, Mapping) else ():
        name = entry.key.text
        if not _NAME.match(name):
            source.report(entry.key, f"{name!r} is no name of a variable", "use letters, digits and `_`")
        elif name.startswith(_OURS):
            source.report(
                entry.key, f"`{name}` is set by hooks itself", f"choose a name that does not begin with {_OURS}"
            )
        elif "\0" in (found or {}).get(name, ""):
            source.report(entry.value, f"`env.{name}` holds a NUL character, which no variable can", "remove it")
    return found


def read_secret_names(source: Source, node: Node) -> list[str] | None:
    """The environment variables that `${secrets.NAME}` may stand for."""
    names = read_texts(source, node, "`secrets`")
    if names is None or not isinstance(node, Sequence):
        return None
    for item, name in zip(node.items, names, strict=True):
        if not _NAME.match(name):
            source.report(item, f"{name!r} is no name of a variable", "list the names, not the values: [API_KEY]")
    return list(dict.fromkeys(names))
