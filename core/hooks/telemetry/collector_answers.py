"""What a collector may answer: little, soon, and whether it took what it was sent.

The SDK's exporter asks by `requests`, which follows redirects, waits for each byte anew, and keeps all it is sent; and
it takes everything below 400 for success. So it is given a session whose answers are read here: no more than so many
bytes, within its timeout for all of it, and with what the protocol has the body say. What is no success stays here, as
`refusal`, since the exporter only logs what it meets. Errors of 400 and above are left to it: it knows which to retry.
"""

from __future__ import annotations

import io
import os
import threading
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    import requests

_MOST_BYTES = 64 * 1024
_OWN_SESSIONS = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
)
"""Variables by which somebody brings a session of their own, and answers for it."""
_LONGEST_S = 10.0
"""Where the exporter sets no timeout."""


class CollectorAnswers:
    """What became of the last thing that was sent through the session."""

    def __init__(self) -> None:
        self.refusal: str | None = None
        """Why nothing was taken, where the exporter would take the answer for success or has no words for it."""
        self.rejected = 0
        """Of what was taken, how many spans were not."""
        self.words = ""
        """Why, if the collector says so."""
        self.troubles: list[str] = []
        """What else went wrong, of which the exporter may in the end only say that it took too long."""
        self._reading: threading.Thread | None = None

    def forget(self) -> None:
        """Something new is sent."""
        self.refusal, self.rejected, self.words, self.troubles = None, 0, "", []

    def session(self) -> requests.Session | None:
        """For the exporter; None where it is to have somebody's own."""
        import requests
        from requests.adapters import HTTPAdapter

        if any(os.environ.get(name) for name in _OWN_SESSIONS):
            return None
        answers = self

        class Adapter(HTTPAdapter):
            def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
                def ask() -> requests.Response:
                    return _with_bounded_body(super(Adapter, self).send(request, *args, **{**options, "stream": True}))

                return answers._look_at(answers._within(options.get("timeout"), ask))

        session = requests.Session()
        session.mount("http://", Adapter())
        session.mount("https://", Adapter())
        return session

    def _within(self, timeout: Any, ask: Any) -> requests.Response:
        """What `ask` returns, in time. The sockets' own timeouts begin again with each byte, so that a thread waits."""
        if self._reading is not None and self._reading.is_alive():
            raise self._refused("it is still busy with its last answer")
        came: list[requests.Response | Exception] = []

        def read() -> None:
            try:
                came.append(ask())
            except Exception as error:  # noqa: BLE001 - raised again where it is waited for
                came.append(error)

        limit = timeout if isinstance(timeout, int | float) else _LONGEST_S
        self._reading = threading.Thread(target=read, name="collector", daemon=True)
        self._reading.start()
        self._reading.join(limit)
        if not came:
            raise self._refused(f"no whole answer came within {limit:.3g} s")
        if isinstance(came[0], Exception):
            self.troubles.append(str(came[0]))
            raise came[0]
        return came[0]

    def _look_at(self, response: requests.Response) -> requests.Response:
        if 300 <= response.status_code < 400:
            raise self._refused(f"it answered {response.status_code} {response.reason}, and redirects are not followed")
        if response.status_code >= 400:
            self.troubles.append(f"it answered {response.status_code} {response.reason}")
        body = response.content
        if response.status_code < 300 and len(body) > _MOST_BYTES:
            raise self._refused(f"its answer is longer than {_MOST_BYTES // 1024} KiB")
        if response.status_code < 300:
            self.rejected, self.words = _rejected(body)
        return response

    def _refused(self, words: str) -> Exception:
        import requests

        self.refusal = words
        return requests.RequestException(words)


def _with_bounded_body(response: requests.Response) -> requests.Response:
    import requests
    from urllib3.exceptions import HTTPError

    raw = response.raw
    try:
        body = raw.read(_MOST_BYTES + 1, decode_content=True)
    except HTTPError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error
    finally:
        raw.close()
    response.raw = io.BytesIO(body)
    return response


def _rejected(body: bytes) -> tuple[int, str]:
    """How many spans were not taken, and why; a body that is not what the protocol asks for says nothing of it."""
    from google.protobuf.json_format import ParseDict, ParseError
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    answer = ExportTraceServiceResponse()
    try:
        if body.lstrip().startswith(b"{"):
            ParseDict(orjson.loads(body), answer, ignore_unknown_fields=True)
        else:
            answer.ParseFromString(body)
    except (DecodeError, ParseError, ValueError):
        return 0, ""
    return max(0, answer.partial_success.rejected_spans), answer.partial_success.error_message
