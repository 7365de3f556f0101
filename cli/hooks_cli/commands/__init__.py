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
    "ls": "List runs, one row each.",
    "show": "One run: status, nodes, last error, the next command to type.",
    "tail": "Print events, and follow them as they happen.",
    "logs": "What a node's process wrote to stdout or stderr.",
    "validate": "Check workflow files and print every problem.",
    "verify": "Check a run's log, blobs and sidecars for damage.",
}

NOT_SUPPORTED_YET = (
    "approve",
    "cancel",
    "completion",
    "doctor",
    "export",
    "gc",
    "graph",
    "help",
    "hook",
    "init",
    "policy",
    "reject",
    "replay",
    "report",
    "rerun",
    "resolve",
    "retry",
    "schema",
    "wait",
    "worker",
)
"""Words of later versions: known, so that nobody is told that `cancel` might be a typing mistake."""
