"""Makes an HTTP request. The status says how it ended; without one, whether anything had been sent does.

2xx done · 4xx failed, since the server says so · not connected: not done · 5xx, or nothing more after the first byte
was sent: unknown, since the server may have done it all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hooks import jsonio
from hooks.events.payloads import ErrorClass, ErrorInfo
from hooks.executors.base import (
    Absent,
    CannotTell,
    EffectCall,
    Executor,
    Found,
    InputError,
    Later,
    LookUp,
    Prepared,
    Settled,
)
from hooks.executors.http_exchange import Answer, HttpExchange, NoAnswerError, Request, redacted
from hooks.executors.inputs import (
    TERMS,
    check_keys,
    duration_at,
    filled_text,
    flag_at,
    object_at,
    terms_at,
    text_or_secret_at,
    word_at,
)
from hooks.executors.settling import masked, masked_look_up, unsettled

KEPT_BODY_BYTES = 1024 * 1024
LOOK_UP_TIMEOUT_MS = 30_000
KEY_HEADER = "Idempotency-Key"
_KEYS = ("method", "url", "headers", "json", "body", "timeout", "follow_redirects", "lookup", *TERMS)
_DEFAULT_TIMEOUT_MS = 30_000
_SETTLE_MS = 30_000
_KEY_MARK = "{key}"
_TRY_AGAIN = frozenset({408, 425, 429})
# Redirects that may be the answer to something that has been done, and not a request to do it elsewhere.
_SEE_OTHER = frozenset({302, 303})


class HttpExecutor(Executor):
    """Provider `http`; output {status, headers, body, json, truncated}, header names in lower case.

    The request has an Idempotency-Key header. In the URL of a look-up `{key}` stands for that key; the look-up is sent
    with the request's headers and its own on top.
    """

    def __init__(self) -> None:
        self._exchange = HttpExchange()

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, _KEYS)
        if "json" in resolved_input and "body" in resolved_input:
            raise InputError("input: give either `json` or `body`.")
        has_body = "json" in resolved_input or "body" in resolved_input
        canonical = {
            **_target("input", resolved_input, default_method="POST" if has_body else "GET"),
            "timeout": duration_at("input.timeout", resolved_input.get("timeout", _DEFAULT_TIMEOUT_MS)),
            **terms_at(resolved_input),
        }
        if "json" in resolved_input:
            canonical["json"] = resolved_input["json"]
        if "body" in resolved_input:
            canonical["body"] = text_or_secret_at("input.body", resolved_input["body"])
        if flag_at("input.follow_redirects", resolved_input.get("follow_redirects", False)):
            canonical["follow_redirects"] = True
        if "lookup" in resolved_input:
            lookup = object_at("input.lookup", resolved_input["lookup"])
            check_keys(lookup, ("method", "url", "headers"), "input.lookup")
            canonical["lookup"] = _target("input.lookup", lookup, default_method="GET")
        return Prepared(canonical, provider="http", idempotency_ttl_ms=canonical.get("idempotency_ttl"))

    async def execute(self, call: EffectCall) -> Settled:
        try:
            request = _request(call)
        except InputError as error:
            return unsettled("not_done", "InvalidInput", "userFault", str(error))
        try:
            answer = await self._exchange.send(request, _body_limit(call))
        except NoAnswerError as error:
            return masked(_without_answer(request, error), call.masker)
        return masked(_settle(request, answer), call.masker)

    def can_look_up(self, canonical_input: Mapping[str, Any]) -> bool:
        return "lookup" in canonical_input

    def may_retry(self, canonical_input: Mapping[str, Any]) -> bool:
        """Always: a status says whether it was done; where one could not, the outcome is unknown, not failed."""
        return True

    async def look_up(self, call: EffectCall) -> LookUp:
        if "lookup" not in call.input:
            return CannotTell("The input has no `lookup`.")
        try:
            request = _look_up_request(call)
            answer = await self._exchange.send(request, _body_limit(call))
        except InputError as error:
            return CannotTell(str(error))
        except NoAnswerError as error:
            return masked_look_up(Later(f"The look-up got no answer: {error}."), call.masker)
        return masked_look_up(_found(request, answer), call.masker)

    def settle_ms(self, canonical_input: Mapping[str, Any], timeout_ms: int | None) -> int:
        """Until the request has timed out, and its server had half a minute more to make up its mind."""
        if "settle" in canonical_input:
            return super().settle_ms(canonical_input, timeout_ms)
        own: int = canonical_input["timeout"]
        return (own if timeout_ms is None else min(own, timeout_ms)) + _SETTLE_MS


# ---- what is sent --------------------------------------------------------------------------------------------------


def _target(place: str, given: Mapping[str, Any], *, default_method: str) -> dict[str, Any]:
    if "url" not in given:
        raise InputError(f"{place}.url is missing.")
    method = word_at(f"{place}.method", given.get("method", default_method)).upper()
    if not (method.isascii() and method.isalpha()):
        raise InputError(f"{place}.method: {method!r} is no HTTP method; write GET, POST, …")
    target: dict[str, Any] = {"method": method, "url": text_or_secret_at(f"{place}.url", given["url"])}
    if "headers" in given:
        headers = object_at(f"{place}.headers", given["headers"])
        target["headers"] = {name: text_or_secret_at(f"{place}.headers.{name}", headers[name]) for name in headers}
    return target


def _request(call: EffectCall) -> Request:
    """Raises InputError if a secret was not filled in."""
    given = call.input
    headers = {KEY_HEADER: call.key} | _headers("input.headers", given)
    content = None
    if "json" in given:
        content = jsonio.canonical(given["json"])
        headers = {"Content-Type": "application/json"} | headers
    elif "body" in given:
        content = filled_text("input.body", given["body"]).encode("utf-8", "surrogateescape")
    return Request(
        given["method"],
        filled_text("input.url", given["url"]),
        _last_of_each(headers),
        content,
        given["timeout"],
        given.get("follow_redirects", False),
    )


def _look_up_request(call: EffectCall) -> Request:
    lookup = call.input["lookup"]
    headers = {KEY_HEADER: call.key} | _headers("input.headers", call.input)
    headers |= _headers("input.lookup.headers", lookup)
    headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    url = filled_text("input.lookup.url", lookup["url"]).replace(_KEY_MARK, quote(call.key, safe=""))
    return Request(lookup["method"], url, _last_of_each(headers), None, LOOK_UP_TIMEOUT_MS)


def _headers(place: str, given: Mapping[str, Any]) -> dict[str, str]:
    return {name: filled_text(f"{place}.{name}", value) for name, value in given.get("headers", {}).items()}


def _last_of_each(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers without those that come again later, in whatever case."""
    latest = {name.lower(): name for name in headers}
    return {name: value for name, value in headers.items() if latest[name.lower()] == name}


def _body_limit(call: EffectCall) -> int:
    return KEPT_BODY_BYTES if call.max_output_bytes is None else call.max_output_bytes


# ---- what came back ------------------------------------------------------------------------------------------------


def _settle(request: Request, answer: Answer) -> Settled:
    status = answer.status
    if 200 <= status < 300:
        return _done(answer)
    message = f"{_name(request)} was answered with status {status}.{_said(answer)}"
    error_class: ErrorClass = "retryable" if status in _TRY_AGAIN or status >= 500 else "userFault"
    if status >= 500 or (status in _SEE_OTHER and request.method not in ("GET", "HEAD")):
        message += " Whether it did what was asked is not known."
        return unsettled("unknown", "HttpStatus", error_class, message, status=status)
    if 300 <= status < 400:
        message += " `follow_redirects: true` goes where it points."
    return unsettled("failed", "HttpStatus", error_class, message, status=status)


def _found(request: Request, answer: Answer) -> LookUp:
    if 200 <= answer.status < 300:
        evidence = {"method": request.method, "url": redacted(request.url), "status": answer.status}
        return Found(_done(answer), evidence)
    if answer.status == 404:
        return Absent()
    return Later(f"The look-up was answered with status {answer.status}.")


def _done(answer: Answer) -> Settled:
    if answer.body_error is None:
        return Settled("done", answer.output)
    message = f"It was answered with status {answer.status}, but not with the whole body: {answer.body_error}."
    error = ErrorInfo(error_code="BodyIncomplete", error_class="retryable", error_message=message)
    return Settled("done", answer.output, error)


def _without_answer(request: Request, error: NoAnswerError) -> Settled:
    error_class: ErrorClass = "userFault" if error.is_malformed else "retryable"
    if error.was_sent:
        message = f"{_name(request)}: {error}; whether it did what was asked is not known."
        return unsettled("unknown", error.code, error_class, message)
    return unsettled("not_done", error.code, error_class, f"{_name(request)}: {error}; nothing was sent.")


def _name(request: Request) -> str:
    return f"{request.method} {redacted(request.url)}"


def _said(answer: Answer) -> str:
    said = answer.output["body"].strip()[:500]
    return f" It said: {said}" if said else ""
