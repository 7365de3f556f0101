"""Every fault that frameworks of this kind have had, as a test that passes here."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hooks.pipeline.dispatch import Verdict
from tests.pipeline.builders import HookFiles, document_at, outcomes, reason


def asked(files: HookFiles, *entries: Any, **question: Any) -> Verdict:
    return asyncio.run(files.ask(*entries, **question))


RAISED = ["Exception('x')", "SystemExit(0)", "StopIteration()"]


@pytest.mark.parametrize(
    ("definition", "raised"),
    # In the loop a KeyboardInterrupt is the driver's: somebody pressed Ctrl-C.
    [*(("def", raised) for raised in [*RAISED, "KeyboardInterrupt()"]), *(("async def", raised) for raised in RAISED)],
)
def test_an_exception_in_a_policy_does_not_let_the_run_go_on(files: HookFiles, definition: str, raised: str) -> None:
    verdict = asked(files, files.python(f"{definition} hook_(payload):\n    raise {raised}"))

    assert verdict.violation is not None
    assert verdict.violation.error_class == "hook_error"


def test_a_result_that_is_blocked_is_not_also_reported_as_a_success(files: HookFiles) -> None:
    point = "component_post_success"
    audit = files.python("return block(payload.verdict.outcome)", "audit", on=point, mode="audit")
    verdict = asked(files, files.python("return block('no')", on=point), audit, point=point)

    assert verdict.violation is not None
    assert (verdict.outcome, reason(verdict, 1)) == ("block", "block")


def test_an_audit_sees_what_was_blocked(files: HookFiles) -> None:
    seen = files.directory / "seen.json"
    audit = files.command("cat > seen.json", "audit", mode="audit")

    asked(files, files.python("return block('no')"), audit)

    assert json.loads(seen.read_bytes())["verdict"] == {
        "outcome": "block",
        "plugin": "policy",
        "reason": "no",
        "code": None,
    }


@pytest.mark.parametrize(
    ("field", "before", "cleared"),
    [("requirements", [{"name": "r", "check": "true"}], []), ("model_options", {"a": 1}, {}), ("format", {}, None)],
)
def test_a_field_can_be_cleared(files: HookFiles, field: str, before: Any, cleared: Any) -> None:
    document = {**document_at("component_pre_execute"), field: before}

    verdict = asked(files, files.python(f"return modify({field}={cleared!r})"), document=document)

    assert verdict.changes == {field: cleared}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return payload", "it returned a ComponentPreExecutePayload"),
        ("return payload.model_copy(update={'format': {}})", "it returned a ComponentPreExecutePayload"),
        ("return {'model_options': {}}", "it returned a dict"),
        ("from hooks import RunStartedPayload\nreturn RunStartedPayload", "it returned a ModelMetaclass"),
        ("return modify(tool_calls_enabled='true')", "'tool_calls_enabled' has a value of a wrong type"),
        ("return modify(tool_calls_enabled=1)", "'tool_calls_enabled' has a value of a wrong type"),
        ("return modify(format='{}')", "'format' has a value of a wrong type"),
    ],
)
def test_a_sibling_class_a_dict_and_text_for_a_number_are_refused(files: HookFiles, body: str, said: str) -> None:
    verdict = asked(files, files.python(body))

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith(said)


def test_a_result_of_2_mb_aborts_nothing(files: HookFiles) -> None:
    document = document_at("component_post_success")
    text = "x" * 2_000_000
    document["result"] = {**document["result"], "text": text}
    point = "component_post_success"
    function = files.python("return block(str(len(payload.result.text)))", "function", on=point, mode="audit")
    command = files.command("jq -r .result.text.bytes >&2; exit 2", "command", on=point, mode="audit")

    verdict = asked(files, function, command, point=point, document=document)

    assert [reason(verdict, index) for index in (0, 1)] == ["2000000", "exit 2: 2000000"]


@pytest.mark.parametrize("node", ["draft", "publish"])
def test_the_ids_are_filled(node: str) -> None:
    document = document_at("component_pre_execute", node)

    ids = ("run_id", "workflow_id", "node_id", "activity_id", "attempt_id", "session_id", "request_id", "action_id")
    assert all(document[name] for name in ids)


@pytest.mark.parametrize(
    "change",
    [
        "payload.params['since'] = 'v2'",
        "payload.action.__dict__['prompt'] = 'x'; payload.action.prompt = 'x'",
        "payload.requirements[0].__class__; payload.requirements.append(1)",
        "payload.model_options['nested']['deep'].append(1)",
        "object.__setattr__ and payload.user_metadata.update(a=1)",
    ],
)
def test_a_nested_value_cannot_be_changed_from_a_hook(files: HookFiles, change: str) -> None:
    document = document_at("component_pre_execute")
    document["model_options"] = {"nested": {"deep": [1]}}
    document["requirements"] = [{"name": "r", "check": "true"}]
    before = json.dumps(document, sort_keys=True)
    seen = files.command("cat > seen.json", "after")

    asked(files, files.python(change, on_error="ignore"), seen, document=document)

    shown = json.loads((files.directory / "seen.json").read_bytes())
    assert json.dumps({name: shown[name] for name in document}, sort_keys=True) == before


def test_what_a_hook_keeps_hold_of_and_changes_later_is_not_what_is_in_force(files: HookFiles) -> None:
    files.module(
        "keeping.py",
        """
        kept = {"top": {"n": 1}}
        def first(payload):
            return modify(model_options=kept)
        def second(payload):
            kept["top"]["n"] = 2
        """,
    )

    verdict = asked(files, *(files.entry(name, python=f"keeping.py:{name}") for name in ("first", "second")))

    assert verdict.changes == {"model_options": {"top": {"n": 1}}}


def test_each_of_three_hooks_is_given_the_whole_input(files: HookFiles) -> None:
    document = {**document_at("component_pre_execute"), "params": {str(n): "y" * 60_000 for n in range(5)}}
    entries = [files.command(f"cat > {name}.json", name) for name in ("one", "two", "three")]

    asked(files, *entries, document=document)

    sizes = {(files.directory / f"{name}.json").stat().st_size for name in ("one", "two", "three")}
    assert len(sizes) == 1
    assert min(sizes) > 300_000


def test_an_empty_answer_of_a_later_hook_leaves_an_earlier_change_alone(files: HookFiles) -> None:
    """B60."""
    change = files.command("""echo '{"modify": {"format": {"title": "a"}}}'""", "change")

    verdict = asked(files, change, files.command("exit 0", "silent"), files.command("echo '{}'", "empty"))

    assert verdict.changes == {"format": {"title": "a"}}


def test_a_hook_that_is_stopped_before_it_begins_is_ended_at_its_timeout(files: HookFiles) -> None:
    entry = files.command("kill -STOP $$; touch never", timeout_ms=200)

    verdict = asked(files, entry)

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith("no answer within its timeout of ")


# ---- secrets -------------------------------------------------------------------------------------------------------


def test_a_secret_is_masked_in_what_hooks_see_and_in_what_is_recorded_of_them(files: HookFiles) -> None:
    def mask(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("hunter22", "[secret PASS]")
        if isinstance(value, dict):
            return {key: mask(child) for key, child in value.items()}
        return [mask(child) for child in value] if isinstance(value, list) else value

    document = {**document_at("component_pre_execute"), "params": {"since": "hunter22"}}
    seen = files.command("cat > seen.json; echo leaked hunter22", "seen")
    change = files.python("return modify(model_options={'temperature': 'hunter22'})", "change")
    no = files.python("return block('hunter22', details={'a': ['hunter22']})", "no", priority=60)
    failed = files.command("echo hunter22 >&2; exit 1", "failed", on_error="ignore")

    verdict = asked(files, seen, change, failed, no, document=document, mask=mask)

    assert b"hunter22" not in (files.directory / "seen.json").read_bytes()
    assert "hunter22" not in repr(verdict)
    assert verdict.changes == {"model_options": {"temperature": "[secret PASS]"}}
    assert verdict.violation is not None
    assert verdict.violation.details["reason"] == "[secret PASS]"
