"""Runs as OpenTelemetry spans: written, sent, followed, and told by who drives; never to the harm of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import CommandLine
from tests.crash.steps import PATIENCE_S, RUN, held_step
from tests.telemetry.collector import SentSpan, SentTo, collecting

RECORDED = Path(__file__).parents[2] / "sample_runs" / "review_loop" / "recorded" / "review-loop-sample"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def collector() -> Iterator[SentTo]:
    with collecting() as sent:
        yield sent


def told_of(cli: CommandLine, run: str, *words: str) -> list[dict[str, Any]]:
    """The spans of a run, as lines of JSON have them."""
    ended = cli.hooks("export", run, "--otlp", "-o", "-", *words)
    assert ended.code == 0, ended.err
    return [
        span
        for line in ended.out.splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["key"]: next(iter(entry["value"].values())) for entry in span["attributes"]}


def ids(spans: list[dict[str, Any]]) -> set[str]:
    return {span["spanId"] for span in spans}


def by_name(spans: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {span["name"]: span for span in spans}


def test_what_is_written_is_what_is_sent(cli: CommandLine, collector: SentTo) -> None:
    """Ids in hex, numbers as the mapping has them; the file may be sent later by others."""
    written = told_of(cli, str(RECORDED))
    sent = cli.hooks("export", str(RECORDED), "--otlp", "--endpoint", collector.url, "--json")

    def as_sent(span: dict[str, Any]) -> tuple[object, ...]:
        times = int(span["startTimeUnixNano"]) // 1_000_000, int(span["endTimeUnixNano"]) // 1_000_000
        return span["traceId"], span["spanId"], span.get("parentSpanId"), span["name"], span["kind"], *times

    def as_came(span: SentSpan) -> tuple[object, ...]:
        return span.trace_id, span.span_id, span.parent_id, span.name, span.kind, span.start, span.end

    assert sent.code == 0, sent.err
    assert [as_sent(span) for span in written] == [as_came(span) for span in collector.spans]
    (trace,) = sent.document["traces"]
    assert (trace["run_id"], trace["spans"]) == ("review-loop-sample", len(written))
    assert {span.trace_id for span in collector.spans} == {trace["trace_id"]}
    assert sent.document["to"] == collector.url


def test_the_same_run_is_the_same_lines(cli: CommandLine) -> None:
    cli.hooks("export", str(RECORDED), "--otlp", "-o", "one.jsonl")
    cli.hooks("export", str(RECORDED), "--otlp", "-o", "two.jsonl")

    assert (cli.directory / "one.jsonl").read_bytes() == (cli.directory / "two.jsonl").read_bytes()
    assert cli.hooks("export", str(RECORDED), "--otlp", "-o", "one.jsonl").code == 2


def test_the_variables_of_opentelemetry_count(cli: CommandLine, collector: SentTo) -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-team=blue",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_SERVICE_NAME": "nightly",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
    }
    ended = cli.hooks("export", str(RECORDED), "--otlp", environment=environment)

    assert (ended.code, ended.out) == (0, "")
    assert collector.headers[0]["x-team"] == "blue"
    assert collector.headers[0]["content-encoding"] == "gzip"
    assert collector.resources[0] == {"service.name": "nightly", "deployment.environment.name": "test"}


def test_without_a_place_to_send_them_spans_go_to_stdout(cli: CommandLine) -> None:
    ended = cli.hooks("export", str(RECORDED), "--otlp")

    assert json.loads(ended.out.splitlines()[0])["resourceSpans"]
    assert cli.hooks("export", str(RECORDED), "--otlp", "--json").code == 2
    assert cli.into_closed_pipe("export", str(RECORDED), "--otlp").code == 0


@pytest.mark.parametrize("words", [["--endpoint", "x"], ["--content"], ["--follow"]])
def test_what_is_for_spans_is_not_taken_for_archives(cli: CommandLine, words: list[str]) -> None:
    ended = cli.hooks("export", str(RECORDED), *words)

    assert (ended.code, "is for spans" in ended.err) == (2, True)


def test_a_collector_that_does_not_take_them_is_an_error_with_the_reason(cli: CommandLine, collector: SentTo) -> None:
    collector.status = 400
    refused = cli.hooks("export", str(RECORDED), "--otlp", "--endpoint", collector.url)
    absent = cli.hooks(
        *("export", str(RECORDED), "--otlp", "--endpoint", NOWHERE), environment={"OTEL_EXPORTER_OTLP_TIMEOUT": "3"}
    )
    spoken = cli.hooks("export", str(RECORDED), "--otlp", environment={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    no_url = cli.hooks("export", str(RECORDED), "--otlp", "--endpoint", "localhost:4318")

    assert (refused.code, absent.code, no_url.code) == (1, 1, 2)
    assert "code: 400" in refused.err
    assert f"The collector at {NOWHERE} did not take the spans: Connection refused." in absent.err
    assert [line for ended in (refused, absent) for line in ended.err.splitlines() if "Traceback" in line] == []
    assert spoken.code == 0, "nothing is sent"


def test_a_protocol_that_is_not_spoken_is_said_before_anything_starts(cli: CommandLine) -> None:
    ended = cli.hooks("run", "greeting.yaml", "--otlp", environment={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})

    assert (ended.code, cli.runs.exists()) == (2, False)
    assert "http/protobuf is what hooks speaks" in ended.err


def test_limits_of_attributes_are_kept_without_a_word(cli: CommandLine) -> None:
    limit = {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "9"}
    ended = cli.hooks("export", str(RECORDED), "--otlp", environment=limit)

    assert "review-loop-sample" not in ended.out
    assert len(ended.err.splitlines()) == 1
    assert cli.hooks("export", str(RECORDED), "--otlp", environment=dict.fromkeys(limit, "few")).code == 2


def test_who_has_switched_telemetry_off_is_heard(cli: CommandLine, collector: SentTo) -> None:
    environment = {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    driven = cli.hooks("run", "greeting.yaml", "--otlp", "-q", environment=environment)
    sent = cli.hooks("export", "last", "--otlp", environment=environment)

    assert (driven.code, sent.code) == (0, 2)
    assert "OTEL_SDK_DISABLED" in sent.err
    assert collector.spans == []


@pytest.fixture
def without_sdk(cli: CommandLine) -> dict[str, str]:
    """An environment in which the extra is not installed."""
    package = cli.directory / "shadow" / "opentelemetry"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('not here')\n")
    return {"PYTHONPATH": str(package.parent)}


def test_without_the_extra_it_is_said_what_to_install(cli: CommandLine, without_sdk: dict[str, str]) -> None:
    exported = cli.hooks("export", str(RECORDED), "--otlp", environment=without_sdk)
    driven = cli.hooks("run", "greeting.yaml", "--otlp", environment=without_sdk)

    assert (exported.code, driven.code) == (2, 2)
    assert "pip install 'workflow-hooks[otel]'" in exported.err
    assert not cli.runs.exists(), "nothing was started"
    assert cli.hooks("run", "greeting.yaml", environment=without_sdk).code == 0


def two_steps(cli: CommandLine) -> str:
    """A workflow whose first step ends at once, and whose second waits to be let go."""
    first = "  first: {executor: shell, read_only: true, input: {argv: ['true']}}\n"
    text = (cli.directory / cli.blocking()).read_text()
    text = text.replace("step: {", "step: {depends: [first], ").replace("nodes:\n", f"nodes:\n{first}")
    return cli.write("two.yaml", text)


def test_who_drives_tells_what_ends_while_it_drives(cli: CommandLine, collector: SentTo) -> None:
    cli.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    name = two_steps(cli)
    with cli.under_way(name, "--otlp", "-q"):
        told = collector.wait_for("node first")
        assert "node step" not in collector.names
    after_the_fact = told_of(cli, "last")

    assert told.trace_id == after_the_fact[0]["traceId"]
    assert collector.names[-1] == "invoke_workflow blocking"
    assert {span.span_id for span in collector.spans} == ids(after_the_fact)


def test_what_a_collector_has_refused_is_sent_again_while_the_run_goes_on(cli: CommandLine, collector: SentTo) -> None:
    cli.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    collector.status = 400
    with cli.under_way(two_steps(cli), "--otlp", "-q"):
        collector.wait_for_refusal()
        collector.status = 200

    assert {span.span_id for span in collector.spans} == ids(told_of(cli, "last"))


def test_a_rerun_points_to_the_run_it_was_forked_from(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "first", "-q")
    cli.hooks("rerun", "first", "--from", "loud", "--run-id", "second", "-q")
    first, second = by_name(told_of(cli, "first")), by_name(told_of(cli, "second"))

    link = second["invoke_workflow greeting"]["links"][0]
    origin = first["invoke_workflow greeting"]
    assert (link["traceId"], link["spanId"]) == (origin["traceId"], origin["spanId"])
    assert attributes(second["node hello"])["hooks.node.imported"] is True


def test_a_collector_that_is_not_there_changes_nothing_of_a_run(cli: CommandLine) -> None:
    plain = cli.hooks("run", "greeting.yaml")
    failing = cli.hooks("run", "failing.yaml", "--otlp", "-q", environment={"OTEL_EXPORTER_OTLP_ENDPOINT": NOWHERE})
    told = cli.hooks("run", "greeting.yaml", "--otlp", environment={"OTEL_EXPORTER_OTLP_ENDPOINT": NOWHERE})

    assert (told.code, told.out, failing.code) == (0, plain.out, 1)
    warnings = [line for line in told.err.splitlines() if "telemetry" in line]
    assert len(warnings) == 1
    assert "Traceback" not in told.err
    assert f"`hooks export {told.run_id} --otlp` sends them" in warnings[0]


def test_a_run_is_followed_to_its_end(cli: CommandLine, collector: SentTo) -> None:
    with cli.under_way(cli.blocking()):
        follower = cli.start("export", "last", "--otlp", "--follow", "--endpoint", collector.url)
    _, err = follower.communicate(timeout=PATIENCE_S)

    assert follower.returncode == 0, err
    assert {span.span_id for span in collector.spans} == ids(told_of(cli, "last"))
    assert collector.names[-1] == "invoke_workflow blocking"


def test_two_drivers_of_one_run_tell_one_trace(cli: CommandLine, collector: SentTo) -> None:
    cli.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    with held_step(cli, "--otlp", read_only=True) as step:
        step.kill_driver()
        recovery = cli.start("recover", RUN, "-q", "--otlp")
        step.wait_for_driver(recovery)
        step.let_go()
        recovery.communicate(timeout=PATIENCE_S)
    spans = told_of(cli, RUN)

    assert recovery.returncode == 0
    assert {span.span_id for span in collector.spans} <= ids(spans)
    assert collector.names[-1] == "invoke_workflow step"
    assert collector.spans[-1].events == ("hooks.resumed",)
    assert {span["traceId"] for span in spans} == {collector.spans[0].trace_id}
    assert attributes(by_name(spans)["node step"])["hooks.driver"] == "2"


def test_what_failed_was_skipped_and_was_tried_again_is_said(cli: CommandLine) -> None:
    cli.write(
        "ends.yaml",
        "workflow_id: ends\nversion: 1\non_failure: continue\nnodes:\n"
        "  bad: {executor: shell, read_only: true, input: {script: 'test -e fixed'}, retry: {max_attempts: 1}}\n"
        "  after: {executor: shell, read_only: true, depends: [bad], input: {argv: ['true']}}\n"
        "  never: {executor: shell, read_only: true, if: 'false', input: {argv: ['true']}}\n",
    )
    cli.hooks("run", "ends.yaml", "--run-id", "ends")
    failed = told_of(cli, "ends")
    (cli.directory / "fixed").touch()
    cli.hooks("retry", "ends", "-q")
    again = told_of(cli, "ends")

    assert attributes(by_name(failed)["node bad"])["error.type"] == "ExitStatus"
    assert by_name(failed)["node bad"]["status"]["code"] == 2
    assert attributes(by_name(failed)["node never"])["hooks.status"] == "skipped"
    assert attributes(by_name(failed)["invoke_workflow ends"])["hooks.status"] == "failed"
    assert again[: len(failed)] == failed
    first, second = [span for span in again if span["name"] == "invoke_workflow ends"]
    assert attributes(second)["hooks.status"] == "succeeded"
    assert second["links"][0]["spanId"] == first["spanId"]
    assert [attributes(span)["hooks.status"] for span in again if span["name"] == "node bad"] == ["failed", "succeeded"]


def test_what_was_blocked_and_what_is_in_doubt_is_said(cli: CommandLine) -> None:
    cli.write(
        "guard.yaml",
        "hooks: [{name: guard, on: effect_pre_attempt, argv: [sh, -c, 'echo no >&2; exit 2']}]\n",
    )
    cli.write(
        "effect.yaml",
        "workflow_id: effect\nversion: 1\nnodes: {send: {executor: shell, input: {script: 'kill -9 $$'}}}\n",
    )
    assert cli.hooks("run", "effect.yaml", "--run-id", "blocked", "--hooks", "guard.yaml").code == 3
    assert cli.hooks("run", "effect.yaml", "--run-id", "doubt").code == 10
    blocked, doubt = by_name(told_of(cli, "blocked")), by_name(told_of(cli, "doubt"))

    assert attributes(blocked["invoke_workflow effect"])["hooks.status"] == "blocked"
    assert attributes(blocked["hook effect_pre_attempt"])["hooks.hook.verdict"] == "block"
    assert attributes(blocked["node send"])["hooks.error.class"] == "policy"
    assert attributes(doubt["execute_tool shell"])["hooks.status"] == "unknown"
    assert attributes(doubt["reconcile send"])["hooks.status"] == "in_doubt"
    assert "invoke_workflow effect" not in doubt, "it has not ended"


def test_a_cancelled_run_is_no_error(cli: CommandLine) -> None:
    with cli.under_way(cli.blocking()):
        cli.hooks("cancel", "last", "--grace", "100ms")
    spans = by_name(told_of(cli, "last"))

    assert attributes(spans["invoke_workflow blocking"])["hooks.status"] == "cancelled"
    assert attributes(spans["attempt step"])["hooks.status"] == "cancelled"
    assert spans["invoke_workflow blocking"]["status"] == {}


def test_no_secret_is_told_with_the_content(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "told", "-p", "name=open-sesame")
    plain = cli.hooks("export", "told", "--otlp").out
    content = cli.hooks("export", "told", "--otlp", "--content").out
    masked = cli.hooks(
        *("export", "told", "--otlp", "--content", "--mask", "WORD"), environment={"WORD": "open-sesame"}
    ).out

    assert "sesame" not in plain
    assert "HELLO OPEN-SESAME" in content
    assert "open-sesame" in content
    assert "open-sesame" not in masked
    assert "[secret WORD]" in masked


def test_a_damaged_run_is_told_as_far_as_it_goes_and_refused(cli: CommandLine) -> None:
    cli.hooks("run", "greeting.yaml", "--run-id", "hurt")
    log = cli.runs / "hurt" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"HELLO", b"HALLO"))

    assert cli.hooks("export", "hurt", "--otlp").code == 9


def test_a_collector_that_is_not_ready_is_told_with_what_it_answers(cli: CommandLine, collector: SentTo) -> None:
    """It is asked again for longer than a run waits for its spans; what it said is not lost with that."""
    collector.status = 503

    ended = cli.hooks(
        "run", "greeting.yaml", "-q", "--otlp", environment={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    )

    assert ended.code == 0
    assert "spans were not sent (it answered 503 Service Unavailable)" in ended.err
