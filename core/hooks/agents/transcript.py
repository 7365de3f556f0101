"""A conversation as one text, for agents that take only a text."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.agents.base import Message


def as_text(context: Sequence[Message], prompt: str) -> str:
    """What was said, oldest first, and then the prompt; without anything said before, the prompt byte for byte."""
    if not context:
        return prompt
    turns = "\n\n".join(f"[{message.role}]\n{message.content}" for message in context)
    return f"The conversation so far:\n\n{turns}\n\nAnswer what comes next:\n\n[user]\n{prompt}"
