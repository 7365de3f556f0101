"""An agent that is a Python function: (prompt), (prompt, options) or (prompt, options, messages), sync or async.

It answers with text or JSON. A function that does not take the messages before the prompt is given all as one text.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from hooks import jsonio
from hooks.agents.base import AgentError, Generation, GenerationRequest
from hooks.agents.transcript import as_text
from hooks.callables import CallableError, call, in_thread, load_callable
from hooks.definition.model import TOOLS_OPTION, PythonAgent
from hooks.errors import JsonBorderError, describe_exception
from hooks.events.payloads import ErrorClass, ErrorInfo


@dataclass(frozen=True, slots=True)
class _Loaded:
    function: Callable[..., Any]
    takes: int
    """How many arguments: the prompt, the options, the messages before the prompt."""


class PythonAgentCallable:
    """Calls the declared function once for each prompt; it may raise AgentError to say of what class its error is."""

    def __init__(self, declaration: PythonAgent, workflow_directory: Path) -> None:
        self._declaration = declaration
        self._workflow_directory = workflow_directory
        self._loaded: _Loaded | None = None

    @property
    def honoured_options(self) -> frozenset[str]:
        return self._declaration.honoured_options

    async def generate(self, request: GenerationRequest) -> Generation:
        masker = request.masker
        if masker is None:
            return await self._generate(request)
        try:
            generation = await self._generate(request)
        except AgentError as error:
            info = msgspec.structs.replace(error.error, error_message=masker.mask(error.error.error_message))
            raise AgentError(info, masker.mask(error.stack_trace)) from error
        return replace(generation, text=masker.mask(generation.text), value=masker.mask_value(generation.value))

    async def _generate(self, request: GenerationRequest) -> Generation:
        loaded = await self._load()
        messages = [{"role": message.role, "content": message.content} for message in request.context]
        prompt = request.prompt if loaded.takes == 3 else as_text(request.context, request.prompt)
        arguments = (prompt, self._options(request), messages)
        try:
            answer = await call(loaded.function, *arguments[: loaded.takes])
        except Exception as error:
            if _says_what_it_is(error):
                raise
            raise self._failed(type(error).__name__, "fatal", describe_exception(error), error) from error
        return self._generation(answer)

    def _options(self, request: GenerationRequest) -> dict[str, Any]:
        options = dict(request.model_options)
        return {**options, TOOLS_OPTION: request.tool_calls_enabled} if self._declaration.knows_tools else options

    async def adopt(self, request: GenerationRequest) -> Generation | None:
        """Nothing: a function dies with its driver."""
        return None

    async def _load(self) -> _Loaded:
        """The function, loaded for the first prompt; later ones do without the way to a thread, 0.1 ms a step."""
        if self._loaded is None:
            try:
                # In a thread: what the module imports may take seconds, and others are being waited for.
                function = await in_thread(partial(load_callable, self._declaration.callable, self._workflow_directory))
            except CallableError as error:
                raise self._failed("CallableNotFound", "userFault", str(error), error) from error
            self._loaded = _Loaded(function, _arguments_of(function))
        return self._loaded

    def _generation(self, answer: Any) -> Generation:
        try:
            jsonio.check(answer)
        except JsonBorderError as error:
            message = f"its answer is neither text nor plain JSON ({error})"
            raise self._failed("AnswerNotJson", "fatal", message, error) from error
        if isinstance(answer, str):
            return Generation(answer)
        text = jsonio.canonical(answer)
        # A value of its own: the function may go on changing the object it returned.
        return Generation(text.decode(), value=jsonio.parse(text))

    def _failed(self, code: str, error_class: ErrorClass, message: str, error: Exception) -> AgentError:
        info = ErrorInfo(
            error_code=code, error_class=error_class, error_message=f"Agent {self._declaration.name}: {message}"
        )
        return AgentError(info, "".join(traceback.format_exception(error)))


def _says_what_it_is(error: Exception) -> bool:
    """Whether it is an AgentError made as it should be: the function is anybody's."""
    return isinstance(error, AgentError) and isinstance(error.error, ErrorInfo) and isinstance(error.stack_trace, str)


def _arguments_of(function: Callable[..., Any]) -> int:
    """How many of (prompt, options, messages) it takes; the third has to be needed, or to be named so.

    What a function of old has as a third argument with a default of its own is something else.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return 1  # built in, it does not say
    if _binds(signature, "prompt", {}, []) and (
        not _binds(signature, "prompt", {}) or "messages" in signature.parameters
    ):
        return 3
    return 2 if _binds(signature, "prompt", {}) else 1


def _binds(signature: inspect.Signature, *arguments: Any) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True
