"""Secrets stay here: what looks like one is redacted in prompts and in the input of effects.

A call whose input cannot be changed (read_only) is blocked instead. This finds what has the form of a key; what has
none, and what is known by name, is for `secrets` of the workflow.
"""

import re
from typing import Any

from hooks import EffectPreAttemptPayload, GenerationPreCallPayload, HookContext, HookType, Plugin, block, hook, modify

FORMS = {
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "API key": r"\bsk-[A-Za-z0-9_-]{20,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    "password": r"(?i:(?<=password[=:])\s*[^\s'\"]{6,})",
}
PATTERN = re.compile("|".join(f"(?P<f{number}>{form})" for number, form in enumerate(FORMS.values())))


class SecretScan(Plugin):
    """Counts in its state how often it found something, over the whole run."""

    priority = 5

    @hook(HookType.GENERATION_PRE_CALL)
    def prompt(self, payload: GenerationPreCallPayload, ctx: HookContext) -> Any:
        redacted = redact(payload.prompt)
        return self._changed(ctx, prompt=redacted) if redacted != payload.prompt else None

    @hook(HookType.EFFECT_PRE_ATTEMPT)
    def effect(self, payload: EffectPreAttemptPayload, ctx: HookContext) -> Any:
        redacted = redact(payload.input)
        if redacted == payload.input:
            return None
        if payload.read_only:
            return block("its input holds what looks like a secret", code="SecretFound")
        return self._changed(ctx, input=redacted)

    def _changed(self, ctx: HookContext, **fields: Any) -> Any:
        ctx.state["found"] = ctx.state.get("found", 0) + 1
        return modify(**fields)


def redact(value: Any) -> Any:
    """The JSON value with every secret in it replaced by the name of its form."""
    if isinstance(value, str):
        return PATTERN.sub(_name, value)
    if isinstance(value, dict):
        return {key: redact(child) for key, child in value.items()}
    if isinstance(value, list):
        return [redact(child) for child in value]
    return value


def _name(found: "re.Match[str]") -> str:
    names = list(FORMS)
    return f"[{names[int((found.lastgroup or 'f0')[1:])]} redacted]"
