"""Where text is code for a shell: no value may be pasted there, or it would be executed.

`bash -c "echo ${params.x}"` runs whatever x holds. Values reach a script as further arguments ("$1") or on stdin.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

from hooks.definition.tree import Node, Source

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_SCRIPT_FLAG = re.compile(r"-[A-Za-z]*c[A-Za-z]*\Z")
# A shell's own expansions look alike: `${HOME}`, `${name%.txt}`. A dot directly after a name is none of them.
_REFERENCE_IN_SCRIPT = re.compile(r"(?<!\$)\$\{\s*(?:[A-Za-z_]\w*\.|[A-Za-z0-9_.-]+\.(?:output|status|previous)\b)")


def script_elements(argv: Sequence[str]) -> Iterator[int]:
    """The positions in `argv` of text that a shell will run."""
    in_shell = False
    for index, element in enumerate(argv[:-1]):
        if posixpath.basename(element) in _SHELLS:
            in_shell = True
        elif in_shell and _SCRIPT_FLAG.match(element):
            yield index + 1
            return
        elif in_shell and not element.startswith(("-", "+")) and not argv[index - 1].startswith(("-o", "-eo", "+o")):
            in_shell = False


def find_reference(script: str) -> int | None:
    """Where in a script something stands that is a reference of ours and no expansion of the shell's."""
    match = _REFERENCE_IN_SCRIPT.search(script)
    return match.start() if match else None


def report_pasted_text(
    source: Source, items: Sequence[Node], argv: Sequence[str], what: str, *, is_pasted: Callable[[str], bool]
) -> None:
    """Report the elements of `argv` that are shell scripts into which a value would be pasted."""
    for index in script_elements(argv):
        if is_pasted(argv[index]):
            source.report(
                items[index],
                f"{what} in the text of a shell script would be run as code",
                'add it as an argument of its own after the script, and write "$1" in the script '
                '(the argument right after the script is "$0")',
            )
