"""A real OTLP collector on the loopback: it takes spans by HTTP, or refuses them, and remembers what it was sent."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 60


@dataclass(frozen=True)
class SentSpan:
    """A span as it came, ids in hex, times in ms."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: int
    start: int
    end: int
    attributes: Mapping[str, Any]
    is_error: bool
    message: str
    events: tuple[str, ...]
    links: tuple[str, ...]


@dataclass
class SentTo:
    """What has arrived, and how it is answered."""

    port: int
    status: int = 200
    location: str | None = None
    body: bytes = b""
    endless: bytes = b""
    """What is sent again and again after the body, until whoever asked has had enough."""
    pause_s: float = 0
    """Between two of these."""
    spans: list[SentSpan] = field(default_factory=list)
    resources: list[Mapping[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    refused: int = 0
    came: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def wait_for(self, name: str) -> SentSpan:
        """Return once a span of that name has come."""
        with self.came:
            assert self.came.wait_for(lambda: name in self.names, PATIENCE_S), f"no span {name} in {self.names}"
        return next(span for span in self.spans if span.name == name)

    def wait_for_refusal(self) -> None:
        """Return once something was refused."""
        with self.came:
            assert self.came.wait_for(lambda: self.refused > 0, PATIENCE_S)


@contextmanager
def collecting() -> Iterator[SentTo]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    sent = SentTo(server.server_address[1])
    server.sent = sent  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield sent
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def spans_in(request: ExportTraceServiceRequest) -> list[SentSpan]:
    return [
        SentSpan(
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex() or None,
            name=span.name,
            kind=span.kind,
            start=span.start_time_unix_nano // 1_000_000,
            end=span.end_time_unix_nano // 1_000_000,
            attributes=_attributes(span.attributes),
            is_error=span.status.code == span.status.STATUS_CODE_ERROR,
            message=span.status.message,
            events=tuple(event.name for event in span.events),
            links=tuple(link.span_id.hex() for link in span.links),
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(attributes: Any) -> dict[str, Any]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(child) for child in value.array_value.values] if kind == "array_value" else getattr(value, kind)


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        sent: SentTo = self.server.sent  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if sent.status == 200 and self.path.partition("?")[0] == "/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            with sent.came:
                sent.headers.append({name.lower(): text for name, text in self.headers.items()})
                sent.resources += [_attributes(spans.resource.attributes) for spans in request.resource_spans]
                sent.spans += spans_in(request)
                sent.came.notify_all()
        else:
            with sent.came:
                sent.refused += 1
                sent.came.notify_all()
        self.send_response(sent.status if self.path.partition("?")[0] == "/v1/traces" else 404)
        if sent.location is not None:
            self.send_header("location", sent.location)
        if not sent.endless:
            self.send_header("content-length", str(len(sent.body)))
        self.end_headers()
        self.wfile.write(sent.body)
        with suppress(OSError):
            while sent.endless:
                self.wfile.write(sent.endless)
                time.sleep(sent.pause_s)
