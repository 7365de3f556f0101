"""What `preset:` stands for: command-line agents that people have, as declarations of a command agent.

A preset is expanded when the file is read, so that workflow.json holds the whole truth and a later version of hooks
changes no run. The prompt goes in on stdin. Tools that act on their own (edit files, run commands) are not repeatable:
each of their answers may have done something.

What the errors of these tools mean is told by their words, as they have no codes for it. What is not recognized is
fatal: a retry that is missing is seen, a wrong one costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hooks.definition.model import TOOLS_OPTION

_STATUS = r"(?:error|status|code)\D{0,12}"
ERROR_CLASSES: dict[Literal["retryable", "userFault", "fatal"], list[str]] = {
    "retryable": [
        _STATUS + r"(?:408|409|425|429|5\d\d)\b",
        r"rate.?limit|too many requests|usage limit|hit your limit|resource.?exhausted|exceeded your current quota",
        r"overloaded|at capacity|high demand|service unavailable|temporarily unavailable|internal server error",
        r"connection (?:error|refused|reset|closed|aborted)|stream disconnected|fetch failed|request timed out",
        r"ECONNRE(?:SET|FUSED)|ETIMEDOUT|ENOTFOUND|EAI_AGAIN",
    ],
    "userFault": [
        _STATUS + r"(?:400|401|403|404|413|422)\b",
        r"api.?key|no key found|authenticat|auth method|unauthori[sz]ed|not logged in|/login|permission denied",
        r"credit balance|insufficient_quota|billing",
        r"unknown model|invalid model|model .{0,80}(?:not found|not exist|not supported|no access)|selected model",
        r"prompt is too long|context.?length|context.?window",
    ],
}
_LONG_MS = 30 * 60_000
_SHORT_MS = 10 * 60_000


@dataclass(frozen=True, slots=True)
class Preset:
    """`program` is what `argv` of the file takes the place of, its first word alone where it has only one."""

    program: list[str]
    arguments: list[str]
    output: Literal["text", "json", "jsonl"]
    options: Mapping[str, list[str]]
    extract: str | None = None
    error_extract: list[str] | None = None
    usage_extract: str | list[str] | None = None
    model_extract: str | None = None
    timeout_ms: int = _LONG_MS
    acts: bool = True
    """Whether it uses tools of its own, which may change things."""
    without_tools: list[str] | None = None
    """The arguments that take its tools from it, where there are any."""
    user_fault_exits: list[int] = field(default_factory=list)

    def argv(self, given: list[str] | None, *, tools: bool) -> list[str]:
        """`given` takes the place of the program's first word."""
        without = [] if tools else self.without_tools or []
        return [*(given or self.program[:1]), *self.program[1:], *self.arguments, *without]

    def options_with(self, *, tools: bool) -> dict[str, list[str]]:
        """A tool that acts anyway may be told to, and is told nothing."""
        allowed: dict[str, list[str]] = {TOOLS_OPTION: []} if self.acts and tools else {}
        return {**self.options, **allowed}

    def error_classes(self) -> dict[Literal["retryable", "userFault", "fatal"], list[str]]:
        exits = "|".join(map(str, self.user_fault_exits))
        by_exit = [rf"ended with exit code (?:{exits})\."] if exits else []
        return {**ERROR_CLASSES, "userFault": [*ERROR_CLASSES["userFault"], *by_exit]}


PRESETS: dict[str, Preset] = {
    # One document: {type: result, subtype, is_error, result, usage, total_cost_usd, modelUsage: {name: …}}.
    "claude": Preset(
        program=["claude"],
        arguments=["-p", "--output-format", "json"],
        output="json",
        extract="result",
        error_extract=[
            "[is_error=true].result",
            "[subtype=error_max_turns].subtype",
            "[subtype=error_during_execution].subtype",
            "[is_error=true].subtype",
            "[is_error=true].is_error",
        ],
        usage_extract=["usage", "total_cost_usd"],
        model_extract="modelUsage",
        options={"model": ["--model", "{value}"]},
        without_tools=["--tools", "", "--strict-mcp-config"],
    ),
    # An event a line; `error` also tells of connections that are being mended, `turn.failed` is the end.
    "codex": Preset(
        program=["codex", "exec"],
        arguments=["--json", "--skip-git-repo-check", "-"],
        output="jsonl",
        extract="[type=item.completed].item[type=agent_message].text",
        error_extract=["[type=turn.failed].error", "[type=error].message"],
        usage_extract="[type=turn.completed].usage",
        options={"model": ["--model", "{value}"]},
    ),
    # One document: {response, stats: {models: {name: …}}, error: {type, message, code}}; errors may stand on stderr.
    "gemini": Preset(
        program=["gemini"],
        arguments=["--output-format", "json"],
        output="json",
        extract="response",
        error_extract=["error"],
        usage_extract="stats",
        model_extract="stats.models",
        options={"model": ["--model", "{value}"]},
        user_fault_exits=[41, 42, 52],
    ),
    # Simon Willison's: text on stdout, "Error: …" on stderr. It uses tools only where they are named.
    "llm": Preset(
        program=["llm", "prompt"],
        arguments=["--no-stream"],
        output="text",
        options={
            "model": ["--model", "{value}"],
            "temperature": ["--option", "temperature", "{value}"],
            "top_p": ["--option", "top_p", "{value}"],
            "max_tokens": ["--option", "max_tokens", "{value}"],
            "seed": ["--option", "seed", "{value}"],
        },
        timeout_ms=_SHORT_MS,
        acts=False,
    ),
}
