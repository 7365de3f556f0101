"""An agent that answers from a script, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from hooks.agents.base import AgentError, Generation, GenerationRequest, agent_error
from hooks.events.payloads import ErrorClass
from hooks.jsonio import canonical

Answer: TypeAlias = Any
"""A text; another JSON value, which is an answer with structure; a Generation; or an AgentError, which is raised."""

Script: TypeAlias = Sequence[Answer] | Mapping[str, Answer] | Callable[[GenerationRequest], Answer]


class ScriptedAgent:
    """Answers in order, by prompt, or as a function of the request; `asked` and `prompts` are what it was asked.

    In a mapping a prompt stands for itself, or for every prompt that contains it. Asked for more than the script has,
    it fails the step (ScriptExhausted, fatal) and says by which prompt. It honours the model options that the agent
    whose place it takes is declared with, and those that `honours` names.
    """

    def __init__(self, script: Script, *, honours: Iterable[str] = ()) -> None:
        self.asked: list[GenerationRequest] = []
        self._script = script
        self._honours = frozenset(honours)

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.asked]

    @property
    def honoured_options(self) -> frozenset[str]:
        return self._honours

    async def generate(self, request: GenerationRequest) -> Generation:
        self.asked.append(request)
        answer = self._answer(request)
        if isinstance(answer, AgentError):
            raise answer
        if isinstance(answer, Generation):
            return answer
        return Generation(answer) if isinstance(answer, str) else Generation(canonical(answer).decode(), answer)

    async def adopt(self, request: GenerationRequest) -> Generation | None:
        """Nothing is left of a driver that is gone: it is asked again."""
        return None

    def _answer(self, request: GenerationRequest) -> Answer:
        match self._script:
            case Mapping() as by_prompt:
                found = [prompt for prompt in by_prompt if prompt in request.prompt]
                exact = request.prompt in by_prompt
                return by_prompt[request.prompt if exact else found[0]] if found else _exhausted(request)
            case Sequence() as in_order:
                return in_order[len(self.asked) - 1] if len(self.asked) <= len(in_order) else _exhausted(request)
            case answer:
                return answer(request)


def failing(error_class: ErrorClass, message: str = "broken", code: str = "Scripted") -> AgentError:
    """An answer that is an error of this class: retryable ones are asked again under the step's `retry`."""
    return agent_error(code, error_class, message)


def _exhausted(request: GenerationRequest) -> AgentError:
    return agent_error("ScriptExhausted", "fatal", f"The script has no answer to: {request.prompt[:200]!r}")
