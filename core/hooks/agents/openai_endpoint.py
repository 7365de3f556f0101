"""An agent that is a model behind an OpenAI-compatible endpoint, asked through the official client.

One request, one answer: the client's own retries are off, since the runtime retries under the step's `retry`, visibly.
The answer is read as plain JSON and not through the client's models, which take for granted what some leave out.

The key comes from a variable of the environment. Nothing of what is told of a failure may hold it: endpoints echo what
they refuse, and the client quotes headers it cannot send.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as replaced

from hooks import jsonio
from hooks.agents.base import AgentError, Generation, GenerationRequest, agent_error
from hooks.agents.response_format import response_format
from hooks.callables import in_thread
from hooks.definition.model import OPENAI_INSTALL, OpenAIAgent
from hooks.errors import JsonBorderError
from hooks.events.payloads import ErrorClass
from hooks.secrets import Masker

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

_NO_KEY = "none"
"""Stands for none where the client wants one, or it would look for one itself; it is not sent."""
_CONNECT_SECONDS = 30.0
_SILENT_SECONDS = 600.0
"""How long nothing at all may come over an open connection: whoever is at its other end may be gone without a word."""
_MESSAGE_LIMIT = 2_000
_TRY_AGAIN = frozenset({408, 409, 425, 429})
_NEVER_AGAIN = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""What some endpoints say with status 429, and no waiting will mend."""


class OpenAIEndpoint:
    """Sends each prompt with the turns before it as messages; one connection for each, closed with the answer.

    Proxies of the environment are used. Cancelled, it closes the connection.
    """

    def __init__(self, declaration: OpenAIAgent) -> None:
        self._declaration = declaration

    @property
    def honoured_options(self) -> frozenset[str]:
        return self._declaration.honoured_options

    async def generate(self, request: GenerationRequest) -> Generation:
        key = self._key()
        maskers = [masker for masker in (_masker_of(self._declaration, key), request.masker) if masker is not None]
        try:
            generation = await self._ask(request, key)
        except AgentError as error:
            told, trace = error.error.error_message, error.stack_trace
            for masker in maskers:
                told, trace = masker.mask(told), masker.mask(trace)
            # Not `from error`: what caused it may quote the key.
            raise AgentError(replaced(error.error, error_message=told), trace) from None
        for masker in maskers:
            # An endpoint may say back what it was sent in any place.
            generation = replace(
                generation,
                text=masker.mask(generation.text),
                model=masker.mask_value(generation.model),
                usage=masker.mask_value(generation.usage),
                finish_reason=masker.mask_value(generation.finish_reason),
            )
        return generation

    async def adopt(self, request: GenerationRequest) -> Generation | None:
        """Nothing: a request dies with its driver."""
        return None

    def _key(self) -> str | None:
        variable = self._declaration.api_key_env
        if variable is None:
            return None
        # What is read from a file into a variable often ends with its line break.
        key = os.environ.get(variable, "").strip()
        if not key:
            raise self._failed("MissingKey", "userFault", f"the variable {variable}, which has its key, is not set.")
        if not (key.isascii() and key.isprintable()):
            message = f"the value of {variable} is no key: it has characters that no header can hold."
            raise self._failed("MissingKey", "userFault", message)
        return key

    async def _ask(self, request: GenerationRequest, key: str | None) -> Generation:
        try:
            # In a thread: importing the client takes a second, and others are being waited for.
            async with await in_thread(partial(self._client, key)) as client:
                exchange = _streamed if self._declaration.stream else _at_once
                answer = await exchange(client, self._body(request), _headers(request, key))
            return self._generation(answer)
        except AgentError:
            raise
        except _NoAnswerError as error:
            raise self._failed(error.code, error.error_class, str(error)) from error
        except Exception as error:
            raise self._error_of(error) from error

    def _client(self, key: str | None) -> AsyncOpenAI:
        try:
            from openai import AsyncOpenAI, Timeout
        except ImportError as error:
            message = f"the package `openai` is not installed ({error}). Install it: {OPENAI_INSTALL}"
            raise self._failed("ExtraNotInstalled", "userFault", message) from error
        declaration = self._declaration
        longest = max(_SILENT_SECONDS, (declaration.timeout_ms or 0) / 1000)
        client = AsyncOpenAI(
            api_key=key or _NO_KEY,
            base_url=declaration.base_url,
            organization=declaration.organization,
            project=declaration.project,
            timeout=Timeout(longest, connect=_CONNECT_SECONDS),
            max_retries=0,
        )
        # Left to itself the client takes these from variables, whatever it talks to.
        client.organization, client.project = declaration.organization, declaration.project
        return client

    def _body(self, request: GenerationRequest) -> dict[str, Any]:
        options = {name: value for name, value in request.model_options.items() if value is not None}
        messages = [{"role": message.role, "content": message.content} for message in request.context]
        body = {
            "model": self._declaration.model,
            **options,
            "messages": [*messages, {"role": "user", "content": request.prompt}],
        }
        wanted = response_format(request.format)
        return body if wanted is None else {**body, "response_format": wanted}

    def _generation(self, answer: _Answer) -> Generation:
        """Raises AgentError for an answer that is none."""
        if answer.refusal:
            raise self._failed("Refused", "fatal", f"the model refused: {answer.refusal[:_MESSAGE_LIMIT]}")
        if answer.finish_reason == "content_filter":
            raise self._failed("ContentFiltered", "fatal", "a content filter of the endpoint withheld the answer.")
        if not answer.text and answer.finish_reason == "length":
            message = "its tokens were used up before the answer began; raise `max_tokens`."
            raise self._failed("AnswerCutOff", "fatal", message)
        if not answer.text and answer.finish_reason in ("tool_calls", "function_call"):
            raise self._failed("ToolCallInstead", "fatal", "the model called a tool instead of answering.")
        return Generation(answer.text, model=answer.model, usage=answer.usage, finish_reason=answer.finish_reason)

    def _error_of(self, error: Exception) -> AgentError:
        """What the client raised, told apart by who can mend it."""
        import openai

        where = f"POST {self._declaration.base_url.rstrip('/')}/chat/completions"
        if isinstance(error, openai.APIStatusError):
            return self._failed(
                _code_of(error.status_code),
                _class_of(error),
                f"{where} was answered with status {error.status_code}. It said: {_said(error)}",
            )
        if isinstance(error, UnicodeEncodeError):
            message = "the prompt holds bytes that are no text, which no request can hold."
            return self._failed("PromptNotText", "userFault", message)
        if isinstance(error, openai.APITimeoutError):
            return self._failed("ConnectionTimeout", "retryable", f"{where}: nothing came in time.")
        if isinstance(error, openai.APIConnectionError) or _is_of_transport(error):
            return self._failed("ConnectionFailed", "retryable", f"{where}: {_reason(error)}.")
        if isinstance(error, openai.APIError):
            # An error in the middle of a stream, whose status had said that all was well.
            body = error.body if isinstance(error.body, dict) else {}
            return self._failed("ErrorInStream", _class_in_stream(body), f"{where}: {error.message[:_MESSAGE_LIMIT]}")
        return self._failed(type(error).__name__, "fatal", f"{where}: {str(error)[:_MESSAGE_LIMIT]}")

    def _failed(self, code: str, error_class: ErrorClass, message: str) -> AgentError:
        return agent_error(code, error_class, f"Agent {self._declaration.name}: {message}")


# ---- the exchange --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    refusal: str | None
    finish_reason: str | None
    model: str | None
    usage: dict[str, Any] | None


class _NoAnswerError(Exception):
    """Something came with status 200 that holds no answer."""

    def __init__(self, code: str, error_class: ErrorClass, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.error_class: ErrorClass = error_class


def _headers(request: GenerationRequest, key: str | None) -> dict[str, Any]:
    from openai import Omit

    headers = {"Idempotency-Key": request.key}
    return headers if key is not None else {**headers, "Authorization": Omit()}


async def _at_once(client: AsyncOpenAI, body: dict[str, Any], headers: dict[str, Any]) -> _Answer:
    response = await client.chat.completions.with_raw_response.create(
        model=body["model"], messages=body["messages"], extra_body=body, extra_headers=headers
    )
    document = _document(response.http_response.content)
    choice = _first_choice(document)
    message = _object(choice.get("message"))
    return _answer([document], [_text_of(message)], _text(message.get("refusal")), _text(choice.get("finish_reason")))


async def _streamed(client: AsyncOpenAI, body: dict[str, Any], headers: dict[str, Any]) -> _Answer:
    whole = {**body, "stream_options": {"include_usage": True}}
    documents: list[dict[str, Any]] = []
    parts: list[str] = []
    refusal, finish_reason = "", None
    stream = await client.chat.completions.create(
        model=body["model"], messages=body["messages"], stream=True, extra_body=whole, extra_headers=headers
    )
    async with stream, aclosing(aiter(stream)) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            document = _chunk(chunk)
            documents.append({name: document.get(name) for name in ("model", "usage")})
            choices = document.get("choices")
            for choice in map(_object, choices if isinstance(choices, list) else []):
                if choice.get("index", 0) == 0:
                    delta = _object(choice.get("delta"))
                    parts.append(_text_of(delta))
                    refusal += _text(delta.get("refusal")) or ""
                    finish_reason = _text(choice.get("finish_reason")) or finish_reason
    if finish_reason is None:
        raise _NoAnswerError("StreamEnded", "retryable", "the stream of its answer ended before the answer did.")
    return _answer(documents, parts, refusal or None, finish_reason)


def _chunk(chunk: Any) -> dict[str, Any]:
    """One piece of a stream; the client takes whatever JSON there is for one, and reads it less strictly than a log."""
    if not hasattr(chunk, "to_dict"):
        raise _NoAnswerError("AnswerNotFound", "fatal", f"a piece of its answer is no object: {chunk!r:.200}")
    document = _object(chunk.to_dict(mode="json", warnings=False))
    try:
        jsonio.check(document)
    except JsonBorderError as error:
        raise _NoAnswerError("AgentOutputNotJson", "fatal", f"a piece of its answer is no JSON ({error})") from error
    return document


def _answer(
    documents: list[dict[str, Any]], parts: list[str], refusal: str | None, finish_reason: str | None
) -> _Answer:
    models = [model for document in documents if (model := _text(document.get("model")))]
    usages = [usage for document in documents if isinstance(usage := document.get("usage"), dict)]
    return _Answer(
        "".join(parts), refusal, finish_reason, models[0] if models else None, usages[-1] if usages else None
    )


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = jsonio.parse(content)
    except JsonBorderError as error:
        message = f"it did not answer with JSON ({error}): {content[:200]!r}"
        raise _NoAnswerError("AgentOutputNotJson", "fatal", message) from error
    if not isinstance(document, dict):
        raise _NoAnswerError("AnswerNotFound", "fatal", f"its answer is no object: {content[:200]!r}")
    return document


def _first_choice(document: dict[str, Any]) -> dict[str, Any]:
    choices = document.get("choices")
    if isinstance(choices, list) and choices:
        return _object(choices[0])
    told = document.get("error")
    said = f" It said: {_error_text(told)}" if told else ""
    raise _NoAnswerError("NoChoices", "fatal", f"it answered with no choice at all.{said}")


def _text_of(message: Mapping[str, Any]) -> str:
    """The content of a message: text, or parts of which some are."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(_text(_object(part).get("text")) or "" for part in content)
    return _text(content) or ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# ---- what went wrong -----------------------------------------------------------------------------------------------


def _masker_of(declaration: OpenAIAgent, key: str | None) -> Masker | None:
    return None if key is None else Masker({declaration.api_key_env or "api_key": key})


def _code_of(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "")
    except ValueError:
        return f"HttpStatus{status}"


def _class_of(error: APIStatusError) -> ErrorClass:
    if error.status_code >= 500:
        return "retryable"
    if error.status_code in _TRY_AGAIN:
        return "userFault" if _NEVER_AGAIN & {error.code, error.type} else "retryable"
    return "userFault"


def _class_in_stream(body: Mapping[str, Any]) -> ErrorClass:
    code = body.get("code")
    if isinstance(code, int):
        return "retryable" if code >= 500 or code in _TRY_AGAIN else "userFault"
    kind = str(body.get("type"))
    return "retryable" if kind in ("server_error", "rate_limit_error", "overloaded_error") else "fatal"


def _said(error: APIStatusError) -> str:
    """What the endpoint gave as its reason, in short."""
    body = _error_text(error.body) if error.body else error.response.text.strip()
    return body[:_MESSAGE_LIMIT] or "nothing"


def _error_text(told: Any) -> str:
    inner = told.get("error", told) if isinstance(told, dict) else told
    if isinstance(inner, dict) and isinstance(inner.get("message"), str):
        return str(inner["message"])
    return inner if isinstance(inner, str) else str(inner)


def _is_of_transport(error: BaseException) -> bool:
    """Whether the HTTP library beneath the client raised it; which one that is depends on the client's version."""
    return any(base.__module__.partition(".")[0] in ("httpx", "httpx2") for base in type(error).__mro__)


def _reason(error: BaseException) -> str:
    """What lies at the bottom of it, as the system says it: the client itself says "Connection error."."""
    deepest, said = error, str(error)
    while (below := deepest.__cause__ or deepest.__context__) is not None:
        deepest = below
        if isinstance(deepest, ConnectionError) and deepest.errno:
            return os.strerror(deepest.errno)  # asyncio puts words of its own in its place
        if isinstance(deepest, OSError) and deepest.strerror:
            return deepest.strerror
        said = str(deepest) or said
    return said.rstrip(".") or type(error).__name__
