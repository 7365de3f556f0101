"""The words of the command line, each with the line that `hooks --help` shows for it.

A command is a module of this package whose function of the same name parses, calls into `hooks` and calls `render`.
Modules are loaded by name when their command is used (command_line.py), so that `hooks ls` does not pay for what
`hooks run` needs.
"""

from __future__ import annotations

COMMANDS = {
    "run": "Create a run of a workflow file and drive it to its end.",
    "tick": "One pass over runs: start what can start, wait for it, stop.",
    "recover": "Go on with runs after a crash or an interruption.",
    "cancel": "End runs, or one node, also when their driver is dead.",
    "approve": "Say yes at an open gate.",
    "reject": "Say no at an open gate.",
    "resolve": "Settle an effect in doubt: done, failed, or do it again.",
    "retry": "Try again what failed, in the same run.",
    "ls": "List runs, one row each.",
    "show": "One run: status, nodes, gates, last error, the next command to type.",
    "tail": "Print events, and follow them as they happen.",
    "wait": "Wait until nobody moves runs any more; return their code.",
    "logs": "What a node's process wrote to stdout or stderr.",
    "validate": "Check workflow files and print every problem.",
    "verify": "Check a run's log, blobs and sidecars for damage.",
    "rerun": "A new run that takes over results of another, from a node on.",
    "replay": "Decide a run again, or test hooks on what happened.",
    "export": "A run as one file, without its secrets.",
    "policy": "List hooks, try one, print a payload to try it on.",
    "schema": "JSON Schemas: of the payloads of hooks.",
    "doctor": "Check what would go wrong: missing or changed hook files.",
    "gc": "Remove finished runs.",
}

NOT_SUPPORTED_YET = (
    "completion",
    "graph",
    "help",
    "init",
    "report",
    "worker",
)
"""Words of later versions: known, so that nobody is told that `report` might be a typing mistake."""

ALIASES = {"hook": "policy"}
"""Other words for a command."""
