"""An agent that is a command: the prompt goes in on stdin or in argv, the answer is what it prints.

argv is the declared one, then the options the step sets, in the order of the declaration. A prompt is never scanned:
only the declared argv is searched for `${prompt}`, and no shell sees any of it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hooks import jsonio
from hooks.agents.base import AgentError, Generation, GenerationRequest, agent_error
from hooks.agents.printed import ABSENT, Printed, PrintedForm
from hooks.agents.transcript import as_text
from hooks.definition.model import FORMAT_OPTION, TOOLS_OPTION, CommandAgent
from hooks.errors import JsonBorderError
from hooks.events.payloads import ErrorClass
from hooks.processes.exits import Exit
from hooks.processes.launch import STDERR, STDOUT, Child, CouldNotStartError
from hooks.processes.outputs import CaptureLostError, read_tail, read_text
from hooks.processes.running import adopt_child, run_child
from hooks.secrets import environment_without

PROMPT = "${prompt}"
ANSWER_LIMIT = 64 * 1024 * 1024
_STDERR_LIMIT = 16 * 1024
_MESSAGE_LIMIT = 2_000
_CLASSES: tuple[Literal["retryable", "userFault", "fatal"], ...] = ("retryable", "userFault", "fatal")


class CommandAgentProcess:
    """Runs the declared command once for each prompt, in the run's working directory.

    A program given as a relative path with a slash is looked for from the workflow's directory, like every file a
    declaration names; HOOKS_WORKFLOW_DIRECTORY has that directory for the rest.
    """

    def __init__(self, declaration: CommandAgent, workflow_directory: Path) -> None:
        self._declaration = declaration
        self._workflow_directory = workflow_directory
        self._form = PrintedForm(declaration)
        self._honoured = declaration.honoured_options

    @property
    def honoured_options(self) -> frozenset[str]:
        return self._honoured

    async def generate(self, request: GenerationRequest) -> Generation:
        try:
            ended = await run_child(self._child(request), grace_ms=request.grace_ms, on_kill=request.on_kill)
        except CouldNotStartError as error:
            raise agent_error("CouldNotStart", "userFault", f"{self._name}: {error}") from error
        return self._answer(ended, request)

    async def adopt(self, request: GenerationRequest) -> Generation | None:
        ended = await adopt_child(
            request.directory,
            request.marker,
            grace_ms=request.grace_ms,
            masker=request.masker,
            on_kill=request.on_kill,
        )
        if ended is None or ended.code is None:
            # Killed by a signal that may have ended the driver as well: no answer, and no fault of the agent's.
            return None
        return self._answer(ended, request)

    @property
    def _name(self) -> str:
        return f"Agent {self._declaration.name}"

    def _child(self, request: GenerationRequest) -> Child:
        declared = self._declaration.argv
        in_argv = any(PROMPT in word for word in declared)
        prompt = as_text(request.context, request.prompt)
        argv = [word.replace(PROMPT, prompt) for word in declared]
        if "/" in declared[0]:
            argv[0] = str(self._workflow_directory / argv[0])
        return Child(
            argv=[*argv, *self._option_words(request)],
            working_directory=request.working_directory,
            environment={
                **environment_without(request.hidden),
                **self._declaration.env,
                **request.environment,
                "HOOKS_IDEMPOTENCY_KEY": request.key,
                "HOOKS_WORKFLOW_DIRECTORY": str(self._workflow_directory),
            },
            directory=request.directory,
            marker=request.marker,
            stdin=b"" if in_argv else prompt.encode("utf-8", "surrogateescape"),
            masker=request.masker,
        )

    def _option_words(self, request: GenerationRequest) -> list[str]:
        options = dict(request.model_options)
        if request.tool_calls_enabled:
            options[TOOLS_OPTION] = True
        if request.format is not None:
            options[FORMAT_OPTION] = request.format
        return [
            word
            for name, template in self._declaration.options.items()
            if name in options
            for word in _option_argv(template, options[name])
        ]

    def _answer(self, ended: Exit, request: GenerationRequest) -> Generation:
        """The answer in a finished draw's files. Raises AgentError."""
        leaked = len(ended.leaked)
        try:
            generation = self._read_answer(ended, request.directory)
        except AgentError as error:
            error.leaked = leaked
            raise
        except CaptureLostError as error:
            raise agent_error("OutputLost", "fatal", f"{self._name} ended. {error}", leaked=leaked) from error
        asked_for = request.model_options.get("model", self._declaration.model)
        model = generation.model or (asked_for if isinstance(asked_for, str) else None)
        return replace(generation, leaked=leaked, model=model)

    def _read_answer(self, ended: Exit, directory: Path) -> Generation:
        """Raises AgentError, CaptureLostError."""
        stderr = read_tail(directory / STDERR, _STDERR_LIMIT)
        if ended.signal is not None:
            message = f"{self._name} was ended by signal {ended.signal}."
            raise agent_error("Signalled", "retryable", _with_end_of(stderr, message), stderr)
        if ended.code is None:
            raise agent_error("OutcomeUnknown", "retryable", f"{self._name} ended, nobody saw how.", stderr)
        captured = read_text(directory / STDOUT, ANSWER_LIMIT)
        printed = Printed()
        if self._declaration.output != "text":
            try:
                printed = self._form.read(captured.text)
            except JsonBorderError as error:
                if ended.code == 0 and not captured.truncated:
                    message = f"{self._name} did not answer with JSON ({error}): {captured.text[:200]!r}"
                    raise agent_error("AgentOutputNotJson", "fatal", message, stderr) from error
        self._judge(ended.code, printed, captured.text, stderr)
        if captured.truncated:
            message = f"{self._name} answered with {captured.bytes_total} bytes; {ANSWER_LIMIT} are taken at most."
            raise agent_error("OutputTooLarge", "fatal", message, stderr)
        return self._generation(captured.text, printed, stderr)

    def _judge(self, code: int, printed: Printed, stdout: str, stderr: str) -> None:
        """Raise AgentError if the command says it failed: by what it printed first, which tells more than a number."""
        said = printed.error
        if said:
            raise agent_error("AgentFailed", self._class_of(said), f"{self._name}: {_error_text(said)}", stderr)
        if code != 0:
            message = f"ended with exit code {code}."
            if self._declaration.error_classes and not stderr.strip():
                # Some tools say on stdout what went wrong.
                told = _with_end_of(stdout, message)
            else:
                told = _with_end_of(stderr, message)
            raise agent_error("ExitStatus", self._class_by_text(told), f"{self._name} {told}", stderr)

    def _class_of(self, said: Any) -> ErrorClass:
        """What the agent itself says of its error (an object whose errorClass is `retryable`), or what its words do."""
        named = said.get("errorClass", said.get("error_class")) if isinstance(said, dict) else None
        whole = said if isinstance(said, str) else jsonio.canonical(said).decode()
        return "retryable" if named == "retryable" else self._class_by_text(whole)

    def _class_by_text(self, text: str) -> ErrorClass:
        declared = self._declaration.error_classes
        for error_class in _CLASSES:
            if any(re.search(pattern, text, re.IGNORECASE) for pattern in declared.get(error_class, ())):
                return error_class
        return "fatal"

    def _generation(self, stdout: str, printed: Printed, stderr: str) -> Generation:
        if self._declaration.output == "text":
            # One final newline is the terminal's, not the answer's; everything else of it is kept.
            return Generation(stdout.removesuffix("\n"))
        answer = printed.answer
        if answer is ABSENT:
            wanted = self._form.extract.text if self._form.extract is not None else ""
            message = f"{self._name}: its answer has no {wanted!r}: {stdout[:200]!r}"
            raise agent_error("AnswerNotFound", "fatal", message, stderr)
        return Generation(
            text=answer if isinstance(answer, str) else jsonio.canonical(answer).decode(),
            value=None if isinstance(answer, str) else answer,
            model=printed.model,
            usage=printed.usage,
        )


def _option_argv(template: list[str], value: Any) -> list[str]:
    """The words of one option: "{value}" is its value, as it is or in JSON; one without it is a flag."""
    if value is None or (value is False and not any("{value}" in word for word in template)):
        return []
    text = value if isinstance(value, str) else jsonio.canonical(value).decode()
    return [word.replace("{value}", text) for word in template]


def _error_text(said: Any) -> str:
    if isinstance(said, dict) and isinstance(said.get("message"), str):
        return str(said["message"])
    return said if isinstance(said, str) else jsonio.canonical(said).decode()


def _with_end_of(stderr: str, message: str) -> str:
    return f"{message} It said: {stderr.strip()[-_MESSAGE_LIMIT:]}" if stderr.strip() else message
