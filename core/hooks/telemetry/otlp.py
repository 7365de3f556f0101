"""Spans in the OpenTelemetry protocol: sent to a collector by HTTP, or written as lines of a file.

The SDK makes both of the same messages, so that a file can be sent later and means what would have been sent. Its
variables count: OTEL_EXPORTER_OTLP_* (endpoint, headers, timeout, compression, certificates), OTEL_SERVICE_NAME,
OTEL_RESOURCE_ATTRIBUTES, and the limits of attributes. The SDK is an extra, and imported when a span is to leave.

The file format is that of the OTLP file exporter: one ExportTraceServiceRequest a line, in the JSON mapping of the
protocol, which has ids in hex and enums as numbers.
"""

from __future__ import annotations

import base64
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import orjson

from hooks.errors import CollectorError, UsageError
from hooks.telemetry.generative import SCHEMA_URL
from hooks.telemetry.spans import Span

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

OTEL_INSTALL = "pip install 'workflow-hooks[otel]'"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_TRACES_PATH = "/v1/traces"
_SERVICE = "hooks"
_BATCH = 512
"""How many spans go into one message, as in the SDK's own processor."""
_REASONS = (
    re.compile(r"\[Errno -?\d+\] ([^'\")]+)"),
    re.compile(r"(code: \d.*)", re.DOTALL),
    re.compile(r"Transient error (.*) encountered while", re.DOTALL),
    re.compile(r"reason: (.*)", re.DOTALL),
)
"""What went wrong, in what the SDK logs of it: the first of these that is there."""
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})


class SpanSink(Protocol):
    """Where spans go."""

    def send(self, spans: Sequence[Span]) -> None:
        """Return once they are there, or raise CollectorError or OSError."""


def is_switched_off(environ: Mapping[str, str]) -> bool:
    """Whether this environment wants nobody to send anything."""
    return environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def require_sdk() -> None:
    """Raise UsageError, with what to install, unless spans can leave."""
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError as error:
        raise UsageError(f"OpenTelemetry is not installed ({error}).", fix=f"Install it: `{OTEL_INSTALL}`.") from error


class LinesOfJson:
    """A file, or a pipe, in the format of the OTLP file exporter."""

    def __init__(self, file: BinaryIO) -> None:
        require_sdk()
        self._file = file

    def send(self, spans: Sequence[Span]) -> None:
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        for batch in _batches(spans):
            request = MessageToDict(encode_spans(_for_sdk(batch)), use_integers_for_enums=True)
            self._file.write(orjson.dumps(_with_ids_in_hex(request), option=orjson.OPT_APPEND_NEWLINE))
        self._file.flush()


class Collector:
    """A collector behind HTTP. Not for two threads at once, `close` excepted."""

    def __init__(self, endpoint: str | None = None) -> None:
        """`endpoint` is where the collector is, with or without /v1/traces; by default what the variables say, else
        the collector of this machine. Raises UsageError for a protocol that is not spoken here."""
        require_sdk()
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        protocol = next((os.environ[name] for name in _PROTOCOLS if os.environ.get(name)), "http/protobuf")
        if protocol != "http/protobuf":
            raise UsageError(
                f"OTEL_EXPORTER_OTLP_PROTOCOL asks for {protocol}; http/protobuf is what hooks speaks.",
                fix="Name the collector's HTTP endpoint (often port 4318) and unset that variable.",
            )
        if endpoint is not None and not endpoint.startswith(("http://", "https://")):
            raise UsageError(f"--endpoint {endpoint}: this is no URL.", fix="--endpoint http://localhost:4318")
        try:
            self._exporter = OTLPSpanExporter(endpoint=None if endpoint is None else _traces_url(endpoint))
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The OTEL_EXPORTER_OTLP_* variables cannot be used: {error}.", fix="Correct or unset them."
            ) from error
        self._complaints: Sequence[str] = ()
        self.endpoint = endpoint or next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), _LOCAL)

    def send(self, spans: Sequence[Span]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult

        for batch in _batches(spans):
            with _heard_complaints() as self._complaints:
                result = self._exporter.export(_for_sdk(batch))
            if result is not SpanExportResult.SUCCESS:
                raise CollectorError(self.endpoint, _reason(self._complaints))
            self._complaints = ()

    @property
    def trouble(self) -> str | None:
        """What went wrong so far with what is being sent; None if nothing did. The SDK tries for a while by itself."""
        return _reason(self._complaints) if self._complaints else None

    def close(self) -> None:
        """Give up what is being sent, from another thread as well."""
        with _heard_complaints():
            self._exporter.shutdown()  # type: ignore[no-untyped-call]


_LOCAL = "http://localhost:4318"


def _traces_url(endpoint: str) -> str:
    return endpoint if endpoint.rstrip("/").endswith(_TRACES_PATH) else endpoint.rstrip("/") + _TRACES_PATH


@contextmanager
def _heard_complaints() -> Iterator[list[str]]:
    """What the SDK would print about its troubles, so that it is said once and by us."""
    complaints: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: complaints.append(record.getMessage().rstrip("."))  # type: ignore[method-assign]
    logger = logging.getLogger("opentelemetry")
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield complaints
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated


def _reason(complaints: Sequence[str]) -> str:
    """The first thing that went wrong, without the words around it."""
    complaint = next(iter(complaints), "no reason was given")
    found = next(filter(None, (reason.search(complaint) for reason in _REASONS)), None)
    return complaint if found is None else _with_its_number(found[1])


def _with_its_number(reason: str) -> str:
    """Of an answer that it means to try again after, the SDK tells the phrase alone."""
    number = next((status.value for status in HTTPStatus if status.phrase == reason), None)
    return reason if number is None else f"it answered {number} {reason}"


def _batches(spans: Sequence[Span]) -> Iterator[list[Span]]:
    rest = iter(spans)
    while batch := list(islice(rest, _BATCH)):
        yield batch


@_heard_complaints()  # of every text that is longer than the limit
def _for_sdk(spans: Sequence[Span]) -> list[ReadableSpan]:
    """The spans as the SDK has them; the ids are ours, which is why no tracer makes them."""
    from opentelemetry.attributes import BoundedAttributes
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

    try:
        limits = SpanLimits()
    except ValueError as error:
        raise UsageError(
            f"The OTEL_*_LIMIT variables cannot be used: {error}.", fix="Correct or unset them."
        ) from error
    # What the variables say goes over what we say; nothing random, so that the same run is the same lines.
    resource = Resource({"service.name": _SERVICE}).merge(OTELResourceDetector().detect())
    scope = InstrumentationScope(_SERVICE, schema_url=SCHEMA_URL)

    def context(trace_id: str, span_id: str) -> SpanContext:
        flags = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=flags)

    return [
        ReadableSpan(
            name=span.name,
            context=context(span.trace_id, span.span_id),
            parent=None if span.parent_id is None else context(span.trace_id, span.parent_id),
            resource=resource,
            attributes=BoundedAttributes(
                limits.max_span_attributes, dict(span.attributes), max_value_len=limits.max_span_attribute_length
            ),
            events=[Event(event.name, dict(event.attributes), event.at * 1_000_000) for event in span.events],
            links=[Link(context(link.trace_id, link.span_id)) for link in span.links],
            kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
            status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
            start_time=span.start * 1_000_000,
            end_time=span.end * 1_000_000,
            instrumentation_scope=scope,
        )
        for span in spans
    ]


def _with_ids_in_hex(value: Any) -> Any:
    """Protobuf's own JSON has bytes in base64; the protocol's has ids in hex."""
    if isinstance(value, list):
        return [_with_ids_in_hex(child) for child in value]
    if isinstance(value, dict):
        return {
            name: base64.b64decode(child).hex() if name in _IDS else _with_ids_in_hex(child)
            for name, child in value.items()
        }
    return value
