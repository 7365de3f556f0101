"""A real HTTP server on the loopback, told by the path what to answer; it remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class LocalServer:
    """`/status/404` is answered with that status, `/known/<key>` with 200 if something was POSTed with that key,
    `/touches/<file>` with 200 when the file is made, `/hangs/<file>` not at all, but the file is made, …"""

    port: int
    asked: list[Asked] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def posted_keys(self) -> set[str]:
        return {asked.headers["idempotency-key"] for asked in self.asked if asked.method == "POST"}


@contextmanager
def serving() -> Iterator[LocalServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    local = LocalServer(server.server_address[1])
    server.local = local  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield local
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle_one(self) -> None:
        local: LocalServer = self.server.local  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        local.asked.append(Asked(self.command, self.path, headers, body))
        first, _, rest = self.path.partition("?")[0].strip("/").partition("/")
        match first:
            case "status":
                self._answer(int(rest), b"said so")
            case "json":
                self._answer(200, b'{"a": [1, "b"]}', "application/json")
            case "text":
                self._answer(200, "grüß".encode("latin-1"), "text/plain; charset=latin-1")
            case "echo":
                self._answer(200, body)
            case "large":
                self._answer(200, b"x" * int(rest))
            case "cut":
                self._answer(200, b"only this", length=100)
            case "moved":
                self._answer(int(rest), b"", headers={"Location": "/json"})
            case "known":
                self._answer(200 if rest in local.posted_keys() else 404, b"known")
            case "touches":
                Path("/", rest).touch()
                self._answer(200, b"made")
            case "hangs":
                if rest:
                    Path("/", rest).touch()
                threading.Event().wait(30)
            case _:
                self.close_connection = True  # nothing said at all

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_one

    def _answer(
        self,
        status: int,
        body: bytes,
        kind: str = "text/plain",
        *,
        length: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
