"""Words that other workflow tools use, and ours for the same thing.

Whoever comes from another tool writes `when:` or `needs:` first, and a misspelling nearby (`condition` looks like
`description`) would send them astray. A word is only pointed to where it may stand, and with the word that it is not
supported yet where that is so: advice that is refused when it is taken is worse than none.
"""

from __future__ import annotations

from collections.abc import Collection

_OURS: dict[str, tuple[str, ...]] = {
    "if": ("when", "condition", "only_if", "run_if"),
    "for_each": ("foreach", "map", "matrix", "fan_out", "fanout", "each", "with_items"),
    "human_gate": ("approval", "approve", "gate", "human", "manual", "confirm", "review"),
    "retry": ("retries", "max_attempts", "max_retries", "attempts", "retry_count"),
    "body": ("loop", "while", "until", "repeat"),
    "max_iterations": ("max_rounds", "rounds", "iterations"),
    "allow_failure": ("continue_on_error", "ignore_errors", "ignore_failure"),
    "depends": ("needs", "depends_on", "after", "dependencies", "upstream"),
    "output_schema": ("schema", "json_schema", "response_format", "response_schema"),
    "env": ("environment", "env_vars"),
    "cwd": ("workdir", "working_directory"),
    "base_url": ("url", "api_base", "endpoint", "host"),
    "api_key_env": ("key", "token", "key_env"),
    "nodes": ("steps", "tasks", "jobs", "stages"),
    "params": ("inputs", "variables", "vars", "parameters", "arguments"),
    "workflow_id": ("name", "id"),
    "argv": ("command", "cmd", "run", "args", "exec"),
    "on": ("event", "events", "point", "hook"),
    "python": ("callable", "function"),
    "callable": ("python", "function"),
    "input": ("with", "command", "cmd", "run", "script", "argv"),
    "max_concurrency": ("concurrency", "parallelism", "max_parallel"),
    "timeout": ("time_limit", "timeout_seconds", "timeout_minutes"),
}
_MEANT = {
    word: [ours for ours, theirs in _OURS.items() if word in theirs]
    for word in dict.fromkeys(word for theirs in _OURS.values() for word in theirs)
}


def our_words(word: str) -> Collection[str]:
    """The words of ours that `word`, in snake_case, may stand for; the likeliest first."""
    return _MEANT.get(word, [])
