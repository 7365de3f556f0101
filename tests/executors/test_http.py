"""The http executor: how a status, or its absence, is read as an outcome; what is sent; what a look-up tells."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.executors.builders import KEY, execute, look_up
from tests.executors.http_server import LocalServer, serving

from hooks.executors.base import Absent, CannotTell, Found, InputError, Later, Prepared
from hooks.executors.http import HttpExecutor
from hooks.secrets import Masker

HTTP = HttpExecutor()


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with serving() as local:
        yield local


def prepare(resolved_input: dict[str, Any]) -> Prepared:
    return HTTP.prepare(resolved_input, working_directory=Path("/"), workflow_directory=Path("/"))


def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


# ---- what the input becomes ----------------------------------------------------------------------------------------


def test_an_input_is_completed() -> None:
    assert prepare({"url": "http://h/"}).canonical_input == {"method": "GET", "url": "http://h/", "timeout": 30_000}
    assert prepare(
        {
            "url": "http://h/",
            "json": {"a": 1},
            "headers": {"X-N": 1},
            "timeout": "5s",
            "idempotent": True,
            "lookup": {"url": "http://h/{key}"},
        }
    ) == Prepared(
        {
            "method": "POST",
            "url": "http://h/",
            "json": {"a": 1},
            "headers": {"X-N": "1"},
            "timeout": 5_000,
            "idempotent": True,
            "idempotency_ttl": 86_400_000,
            "lookup": {"method": "GET", "url": "http://h/{key}"},
        },
        provider="http",
        idempotency_ttl_ms=86_400_000,
    )


@pytest.mark.parametrize(
    ("resolved_input", "place"),
    [
        ({}, r"input\.url is missing"),
        ({"url": "http://h", "json": 1, "body": "x"}, "either `json` or `body`"),
        ({"url": "http://h", "method": "GE T"}, r"input\.method"),
        ({"url": "http://h", "headers": []}, r"input\.headers"),
        ({"url": "http://h", "headers": {"a": None}}, r"input\.headers\.a"),
        ({"url": "http://h", "timeout": "soon"}, r"input\.timeout"),
        ({"url": "http://h", "lookup": "http://h"}, r"input\.lookup"),
        ({"url": "http://h", "lookup": {}}, r"input\.lookup\.url is missing"),
        ({"url": "http://h", "lookup": {"url": "http://h", "metod": "GET"}}, r"input\.lookup\.metod.*'method'"),
        ({"url": "http://h", "metod": "GET"}, r"input\.metod.*'method'"),
    ],
)
def test_an_input_that_cannot_be_performed_names_the_place(resolved_input: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        prepare(resolved_input)


def test_what_stands_for_a_secret_stays_where_it_is() -> None:
    secret = {"$secret": "Bearer ${TOKEN}"}

    canonical = prepare({"url": secret, "headers": {"Authorization": secret}, "json": {"a": [secret]}}).canonical_input

    assert (canonical["url"], canonical["headers"]["Authorization"], canonical["json"]["a"][0]) == (secret,) * 3


def test_a_call_has_settled_half_a_minute_after_its_timeout() -> None:
    given = prepare({"url": "http://h/", "timeout": "10s"}).canonical_input
    own = prepare({"url": "http://h/", "settle": "1s"}).canonical_input

    assert [HTTP.settle_ms(given, timeout_ms) for timeout_ms in (None, 5_000, 60_000)] == [40_000, 35_000, 40_000]
    assert HTTP.settle_ms(own, None) == 1_000


# ---- what is sent and what comes back ------------------------------------------------------------------------------


def test_an_answer_is_the_output(server: LocalServer, tmp_path: Path) -> None:
    settled = execute(HTTP, tmp_path, {"url": server.url("/json")})

    assert settled.outcome == "done"
    assert settled.output["headers"]["content-type"] == "application/json"
    assert {key: settled.output[key] for key in ("status", "body", "json", "truncated")} == {
        "status": 200,
        "body": '{"a": [1, "b"]}',
        "json": {"a": [1, "b"]},
        "truncated": False,
    }


def test_text_is_decoded_as_its_server_says(server: LocalServer, tmp_path: Path) -> None:
    output = execute(HTTP, tmp_path, {"url": server.url("/text")}).output

    assert (output["body"], output["json"]) == ("grüß", None)


def test_json_and_body_are_sent_with_the_key(server: LocalServer, tmp_path: Path) -> None:
    execute(HTTP, tmp_path, {"url": server.url("/echo"), "json": {"b": "ü", "a": 1}})
    execute(HTTP, tmp_path, {"url": server.url("/echo"), "method": "put", "body": "text"})
    execute(HTTP, tmp_path, {"url": server.url("/echo"), "headers": {"idempotency-key": "own", "X-A": "ü"}})

    json, body, own = server.asked
    assert (json.method, json.body, json.headers["content-type"]) == (
        "POST",
        '{"a":1,"b":"ü"}'.encode(),
        "application/json",
    )
    assert (body.method, body.body) == ("PUT", b"text")
    assert [asked.headers["idempotency-key"] for asked in server.asked] == [KEY, KEY, "own"]
    assert own.headers["x-a"].encode("latin-1").decode() == "ü"


def test_a_long_body_is_cut_and_says_so(server: LocalServer, tmp_path: Path) -> None:
    output = execute(HTTP, tmp_path, {"url": server.url("/large/3000000")}).output
    assert (len(output["body"]), output["truncated"]) == (1 << 20, True)

    output = execute(HTTP, tmp_path, {"url": server.url("/large/11")}, max_output_bytes=10).output
    assert (output["body"], output["truncated"]) == ("x" * 10, True)
    assert output["truncated_fields"] == ["body", "json"]


def test_redirects_are_followed_only_when_told(server: LocalServer, tmp_path: Path) -> None:
    url = server.url("/moved/302")

    assert execute(HTTP, tmp_path, {"url": url}).outcome == "failed"
    assert execute(HTTP, tmp_path, {"url": url, "follow_redirects": True}).output["json"] == {"a": [1, "b"]}


@pytest.mark.parametrize(
    ("method", "path", "outcome", "code", "fault"),
    [
        ("POST", "/status/404", "failed", "HttpStatus", "userFault"),
        ("POST", "/status/429", "failed", "HttpStatus", "retryable"),
        ("POST", "/status/408", "failed", "HttpStatus", "retryable"),
        ("POST", "/status/500", "unknown", "HttpStatus", "retryable"),
        ("POST", "/status/503", "unknown", "HttpStatus", "retryable"),
        ("POST", "/moved/303", "unknown", "HttpStatus", "userFault"),
        ("POST", "/moved/308", "failed", "HttpStatus", "userFault"),
        ("POST", "/nothing", "unknown", "RemoteProtocolError", "retryable"),
        ("GET", "/cut", "done", "BodyIncomplete", "retryable"),
    ],
)
def test_every_failure_is_an_outcome(
    server: LocalServer, tmp_path: Path, method: str, path: str, outcome: str, code: str, fault: str
) -> None:
    settled = execute(HTTP, tmp_path, {"method": method, "url": server.url(path)})

    assert settled.error is not None
    assert (settled.outcome, settled.error.error_code, settled.error.error_class) == (outcome, code, fault)


def test_no_answer_in_time_is_unknown(server: LocalServer, tmp_path: Path) -> None:
    settled = execute(HTTP, tmp_path, {"method": "POST", "url": server.url("/hangs"), "timeout": 200})

    assert settled.outcome == "unknown"
    assert settled.error is not None
    assert settled.error.error_message == (
        f"POST {server.url('/hangs')}: no answer within 200 ms; whether it did what was asked is not known."
    )


def test_what_could_not_be_sent_is_not_done(tmp_path: Path) -> None:
    refused = execute(HTTP, tmp_path, {"url": f"http://127.0.0.1:{closed_port()}/x"})
    nowhere = execute(HTTP, tmp_path, {"url": "http://no-such-host.invalid/"})

    for settled in (refused, nowhere):
        assert settled.outcome == "not_done"
        assert settled.error is not None
        assert (settled.error.error_code, settled.error.error_class) == ("ConnectError", "retryable")
        assert settled.error.error_message.endswith("; nothing was sent.")


@pytest.mark.parametrize("url", ["no-scheme", "ftp://h/", "http://", "http://h:port/"])
def test_a_url_that_is_none_is_not_done(tmp_path: Path, url: str) -> None:
    settled = execute(HTTP, tmp_path, {"url": url})

    assert settled.outcome == "not_done"
    assert settled.error is not None
    assert settled.error.error_class == "userFault"


def test_errors_quote_no_secret(server: LocalServer, tmp_path: Path) -> None:
    url = f"http://user:passw0rd@127.0.0.1:{server.port}/status/404?token=s3cret"
    bad_header = {"url": server.url("/json"), "headers": {"Authorization": "Bearer s3cret\n"}}

    for resolved_input in ({"url": url}, bad_header, {"url": url.replace("http:", "gopher:")}):
        settled = execute(HTTP, tmp_path, resolved_input)
        assert settled.error is not None
        assert settled.outcome in ("failed", "not_done")
        for secret in ("passw0rd", "s3cret"):
            assert secret not in settled.error.error_message


def test_secrets_that_come_back_are_masked(server: LocalServer, tmp_path: Path) -> None:
    masker = Masker({"TOKEN": "s3cret-value"})

    settled = execute(HTTP, tmp_path, {"url": server.url("/echo"), "json": {"a": "s3cret-value"}}, masker=masker)

    assert settled.output["body"] == '{"a":"[secret TOKEN]"}'


def test_a_request_whose_secret_was_not_filled_in_is_not_sent(server: LocalServer, tmp_path: Path) -> None:
    headers = {"Authorization": {"$secret": "Bearer ${TOKEN}"}}

    assert execute(HTTP, tmp_path, {"url": server.url("/json"), "headers": headers}).outcome == "not_done"
    assert server.asked == []


def test_proxies_of_the_environment_are_used(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url(""))

    execute(HTTP, tmp_path, {"url": "http://example.invalid/json"})

    assert [asked.path for asked in server.asked] == ["http://example.invalid/json"]


# ---- whether it happened -------------------------------------------------------------------------------------------


def with_look_up(server: LocalServer, path: str) -> dict[str, Any]:
    return {"method": "POST", "url": server.url("/echo"), "lookup": {"url": server.url(path)}}


def test_a_look_up_tells_by_its_status(server: LocalServer, tmp_path: Path) -> None:
    posting = with_look_up(server, "/known/{key}")

    assert look_up(HTTP, tmp_path, posting) == Absent()
    assert [asked.method for asked in server.asked] == ["GET"]

    execute(HTTP, tmp_path, posting)
    found = look_up(HTTP, tmp_path, posting)
    assert isinstance(found, Found)
    assert (found.settled.outcome, found.settled.output["body"]) == ("done", "known")
    assert found.evidence == {"method": "GET", "url": server.url(f"/known/{KEY}"), "status": 200}


@pytest.mark.parametrize("path", ["/status/500", "/status/403", "/moved/302", "/nothing"])
def test_any_other_answer_to_a_look_up_is_later(server: LocalServer, tmp_path: Path, path: str) -> None:
    assert isinstance(look_up(HTTP, tmp_path, with_look_up(server, path)), Later)


def test_a_look_up_that_finds_nobody_is_later(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/x"

    said = look_up(HTTP, tmp_path, {"url": url, "lookup": {"url": url}})

    assert isinstance(said, Later)
    assert said.reason.startswith("The look-up got no answer: ")


def test_a_look_up_is_sent_with_the_headers_of_the_call(server: LocalServer, tmp_path: Path) -> None:
    posting = with_look_up(server, "/json")
    posting |= {"headers": {"Authorization": "Bearer x", "X-A": "1"}, "json": {}}
    posting["lookup"]["headers"] = {"x-a": "2"}

    look_up(HTTP, tmp_path, posting)

    headers = server.asked[0].headers
    assert (headers["authorization"], headers["x-a"], headers["idempotency-key"]) == ("Bearer x", "2", KEY)
    assert "content-type" not in headers


def test_without_a_look_up_nobody_can_tell(tmp_path: Path) -> None:
    assert isinstance(look_up(HTTP, tmp_path, {"url": "http://h/"}), CannotTell)
