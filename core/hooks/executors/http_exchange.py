"""One HTTP request and its answer, within bounded time and memory, and how far it came.

What matters of a request that got no answer is whether any of it was sent. httpx tells by trace events when the first
byte is about to go out; before that certainly nothing has happened, after that nobody can say.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from hooks import jsonio
from hooks.errors import JsonBorderError

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `timeout_ms` bounds the whole exchange."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    timeout_ms: int
    follow_redirects: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `body_error` says why its body is not all there, apart from its length."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    charset: str
    truncated: bool
    body_error: str | None = None

    @property
    def output(self) -> dict[str, Any]:
        """As an executor's output. `json` is null for what is no JSON, says it is none, or was cut."""
        output = {
            "status": self.status,
            "headers": dict(self.headers),
            "body": _text(self.body, self.charset),
            "json": None if self.truncated else self._json(),
            "truncated": self.truncated,
        }
        return {**output, "truncated_fields": ["body", "json"]} if self.truncated else output

    def _json(self) -> Any:
        kind = self.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            return None
        try:
            return jsonio.parse(self.body)
        except JsonBorderError:
            return None  # the text is in `body`


class NoAnswerError(Exception):
    """The exchange came to no answer. `was_sent`: a byte of the request may have gone out.

    Says what is wrong without quoting header values, which may be secret.
    """

    def __init__(self, code: str, message: str, *, was_sent: bool, is_malformed: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.was_sent = was_sent
        self.is_malformed = is_malformed


class HttpExchange:
    """Makes requests, each over a connection of its own: one that was left open may be dead when it is used again."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None

    async def send(self, request: Request, body_limit: int) -> Answer:
        """The answer, of whatever status. Proxies of the environment are used. Raises NoAnswerError."""
        import httpx

        if self._tls is None:
            self._tls = httpx.create_ssl_context()  # tens of milliseconds
        progress = _Progress()
        deadline = asyncio.get_running_loop().time() + request.timeout_ms / 1000
        try:
            async with httpx.AsyncClient(
                verify=self._tls, timeout=None, follow_redirects=request.follow_redirects
            ) as client:
                prepared = client.build_request(
                    request.method,
                    request.url,
                    headers=[(_bytes(name), _bytes(value)) for name, value in request.headers.items()],
                    content=request.content,
                    extensions={"trace": progress.note},
                )
                async with asyncio.timeout_at(deadline):
                    response = await client.send(prepared, stream=True)
                return await _read(response, body_limit, deadline)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeError) as error:
            # The text of these may quote what was to be sent. The headers are checked when their sending has begun, and
            # before a byte of them is out: only an earlier request, one that was redirected, has been sent.
            raise NoAnswerError(
                "InvalidRequest", _malformation(error), was_sent=progress.headers_sent, is_malformed=True
            ) from error
        except httpx.HTTPError as error:
            raise NoAnswerError(type(error).__name__, _reason(error), was_sent=progress.was_sent) from error
        except TimeoutError as error:
            message = f"no answer within {request.timeout_ms} ms"
            raise NoAnswerError("NoAnswerInTime", message, was_sent=progress.was_sent) from error


def redacted(url: str) -> str:
    """The URL for messages: without user, password, query and fragment, where secrets may stand."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    except ValueError:
        return "(no valid URL)"


@dataclass(slots=True)
class _Progress:
    was_sent: bool = False
    headers_sent: bool = False

    async def note(self, event: str, info: Mapping[str, Any]) -> None:
        # What goes to a proxy first, to have it open a tunnel, is not yet the request.
        if getattr(info.get("request"), "method", b"") == b"CONNECT":
            return
        if event.endswith("send_request_headers.started"):
            self.was_sent = True
        elif event.endswith("send_request_headers.complete"):
            self.headers_sent = True


async def _read(response: httpx.Response, limit: int, deadline: float) -> Answer:
    import httpx

    body, truncated, body_error = bytearray(), False, None
    try:
        async with asyncio.timeout_at(deadline):
            async for part in response.aiter_bytes():
                body += part
                if len(body) > limit:
                    truncated = True
                    break
    except httpx.HTTPError as error:
        body_error = _reason(error)
    except TimeoutError:
        body_error = "it did not come to its end in time"
    finally:
        await response.aclose()
    charset = response.charset_encoding or "utf-8"
    return Answer(
        response.status_code, dict(response.headers.items()), bytes(body[:limit]), charset, truncated, body_error
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, "replace")
    except LookupError:  # the server names a charset that Python does not have
        return body.decode("utf-8", "replace")


def _reason(error: BaseException) -> str:
    """What lies at the bottom of it, as the system says it: httpx itself says "All connection attempts failed"."""
    deepest: BaseException | None = error
    while deepest is not None:
        if isinstance(deepest, OSError) and deepest.strerror:
            return deepest.strerror
        deepest = deepest.__cause__ or deepest.__context__
    return str(error) or type(error).__name__


def _malformation(error: Exception) -> str:
    import httpx

    if isinstance(error, httpx.LocalProtocolError):
        return "a header has a name or a value that HTTP does not allow (a line break, say)"
    return "its URL is none; write it like https://host/path"
