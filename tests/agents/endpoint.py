"""A real HTTP server on the loopback that speaks chat completions, told by the first part of the path how to answer.

It remembers what it was asked. `base_url("echo")` answers with the last message; the others are named by what they do.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    target: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass
class Endpoint:
    port: int
    asked: list[Asked] = field(default_factory=list)
    ready: Path | None = None
    """Made when a request has come that is never answered."""
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when whoever asked for that has closed the connection."""

    def base_url(self, behaviour: str) -> str:
        return f"http://127.0.0.1:{self.port}/{behaviour}/v1"


@contextmanager
def serving() -> Iterator[Endpoint]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    endpoint = Endpoint(server.server_address[1])
    server.endpoint = endpoint  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(message: dict[str, Any], finish_reason: str | None = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion", "model": "served-1", "choices": [choice], "usage": USAGE}


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        endpoint: Endpoint = self.server.endpoint  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        endpoint.asked.append(Asked(self.path, {name.lower(): text for name, text in self.headers.items()}, body))
        behaviour, _, rest = (
            self.path.split("://")[-1].removeprefix(self.headers.get("host", "")).strip("/").partition("/")
        )
        said = body["messages"][-1]["content"]
        match behaviour:
            case "echo" if body.get("stream"):
                self._stream([*said], "stop")
            case "echo":
                self._answer(200, completion({"content": said}))
            case "status":
                self._refuse(int(rest.partition("/")[0]))
            case "events":
                self._answer(200, said, "text/event-stream")
            case "quota":
                self._answer(429, {"error": {"message": "no credit", "code": "insufficient_quota"}})
            case "document":
                self._answer(200, json.loads(said))
            case "text":
                self._answer(200, "<html>not here</html>", "text/html")
            case "cut-stream":
                self._stream([*said], None)
            case "error-in-stream":
                self._stream(["so"], None, {"error": {"message": "busy now", "type": "server_error"}})
            case "cut":
                self._answer(200, completion({"content": said}), length=100_000)
            case "hangs":
                self._hang(endpoint)
            case "hangs-once":
                is_first = [asked.target for asked in endpoint.asked].count(self.path) == 1
                self._hang(endpoint) if is_first else self._answer(200, completion({"content": said}))
            case _:
                self.close_connection = True  # nothing said at all

    def _refuse(self, status: int) -> None:
        echoed = f"{status} is what {self.headers.get('authorization')} gets"
        self._answer(status, {"error": {"message": echoed, "type": "some_error", "code": None}})

    def _answer(self, status: int, body: Any, kind: str = "application/json", *, length: int | None = None) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = length is not None

    def _stream(self, parts: list[str], finish_reason: str | None, last: dict[str, Any] | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        chunks: list[dict[str, Any]] = [_chunk({"content": part}) for part in parts]
        if last is not None:
            chunks.append(last)
        if finish_reason is not None:
            chunks += [_chunk({}, finish_reason), {**_chunk({}), "choices": [], "usage": USAGE}]
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        if finish_reason is not None:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _hang(self, endpoint: Endpoint) -> None:
        if endpoint.ready is not None:
            endpoint.ready.touch()
        self.connection.settimeout(0.01)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                if not self.connection.recv(1):
                    endpoint.gone.set()
                    break
            except TimeoutError:
                continue
            except OSError:
                endpoint.gone.set()
                break
        self.close_connection = True


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "model": "served-1", "choices": [choice]}
