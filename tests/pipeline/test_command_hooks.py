"""What a hook command is given, and that nothing it does can hang, flood or outlive the dispatch."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.builders import (
    RUN,
    HookFiles,
    appears,
    ask_through,
    dispatch_of,
    document_at,
    outcomes,
    reason,
)


def is_gone(directory: Path) -> bool:
    """Whether all that was started in the directory disappears, well before it would have ended by itself."""
    deadline = time.monotonic() + 10
    while (left := living_in(directory)) and time.monotonic() < deadline:
        time.sleep(0.002)
    return not left


def living_in(directory: Path) -> list[int]:
    """The processes that work in the directory."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdecimal() and os.readlink(process / "cwd") == str(directory):
                found.append(int(process.name))
    return found


def with_prompt(prompt: str) -> dict[str, Any]:
    document = document_at("component_pre_execute")
    return {**document, "action": {**document["action"], "prompt": prompt}}


def test_the_document_on_stdin_is_the_payload_and_where_the_run_is(files: HookFiles) -> None:
    entry = files.command("cat > seen.json")

    asyncio.run(files.ask(entry))

    assert json.loads((files.directory / "seen.json").read_bytes()) == {
        **document_at("component_pre_execute"),
        "protocol": 1,
        "hook_event_name": "component_pre_execute",
        "cwd": str(files.directory),
        "run_dir": str(files.directory / "run"),
        "transcript_path": str(files.directory / "run" / "events.jsonl"),
    }


def test_the_environment_names_run_hook_and_node_and_starts_no_other_script(
    files: HookFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    startup = files.directory / "startup"
    startup.write_text("touch started-by-bash\n")
    monkeypatch.setenv("BASH_ENV", str(startup))
    monkeypatch.setenv("ENV", str(startup))
    entry = files.command(
        'echo "$HOOKS_RUN_ID $HOOKS_HOOK $HOOKS_NODE $HOOKS_PROTOCOL $LEVEL" > seen', env={"LEVEL": "high"}
    )
    bash = files.entry("bash", argv=["bash", "-c", "true"])

    asyncio.run(files.ask(entry, bash))

    assert (files.directory / "seen").read_text() == f"{RUN} component_pre_execute draft 1 high\n"
    assert not (files.directory / "started-by-bash").exists()


def test_a_relative_program_is_found_beside_its_declaring_file_and_runs_in_the_working_directory(
    files: HookFiles, tmp_path: Path
) -> None:
    entry = files.command("pwd > where")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    asyncio.run(files.ask(entry, options={"working_directory": elsewhere}))

    assert (elsewhere / "where").read_text() == f"{elsewhere}\n"


def test_a_hook_that_ignores_a_large_input_is_no_fault(files: HookFiles) -> None:
    """B63. The strings stay below the size that goes into files, so that the pipe really carries 2 MB."""
    document = {**document_at("component_pre_execute"), "params": {str(n): "y" * 60_000 for n in range(40)}}

    verdict = asyncio.run(files.ask(files.entry(argv=["true"]), document=document))

    assert verdict.outcome == "allow"


def test_a_hook_that_writes_before_it_reads_does_not_deadlock(files: HookFiles) -> None:
    """B63: both sides have more to say than a pipe holds."""
    document = {**document_at("component_pre_execute"), "params": {str(n): "y" * 60_000 for n in range(40)}}
    quiet = files.command("head -c 2000000 /dev/zero | tr '\\0' ' ' >&2; cat > /dev/null", "quiet")
    flood = files.command("head -c 2000000 /dev/zero | tr '\\0' ' '; cat > /dev/null", "flood")

    verdict = asyncio.run(files.ask(quiet, flood, document=document))

    assert outcomes(verdict) == ["allow", "error"]
    assert reason(verdict, 1) == "it printed more than 1048576 bytes on stdout"


def test_an_answer_of_almost_1_mib_is_read(files: HookFiles) -> None:
    answer = {"modify": {"format": {"description": "d" * 1_000_000}}}
    (files.directory / "answer.json").write_text(json.dumps(answer))

    verdict = asyncio.run(files.ask(files.command("cat answer.json")))

    assert verdict.changes == answer["modify"]


@pytest.mark.parametrize("how", ["sleep 60 &", "setsid sleep 60 &"])
def test_a_child_left_behind_with_the_output_open_is_ended_and_told(files: HookFiles, how: str) -> None:
    """B22."""
    verdict = asyncio.run(files.ask(files.command(f"{how}\necho {{}}")))

    assert verdict.outcome == "allow"
    assert verdict.messages == ("policy: it left a process behind, which was ended",)
    assert living_in(files.directory) == []


def test_a_child_left_behind_without_the_output_is_ended_too(files: HookFiles) -> None:
    verdict = asyncio.run(files.ask(files.command("sleep 60 > /dev/null 2>&1 &\nexit 0")))

    assert verdict.outcome == "allow"
    assert is_gone(files.directory)


def test_a_timeout_leaves_time_to_clean_up(files: HookFiles) -> None:
    entry = files.command("trap 'rm draft; exit 0' TERM\ntouch draft\nwhile true; do sleep 60; done", timeout_ms=300)

    verdict = asyncio.run(files.ask(entry, options={"command_grace_ms": 30_000}))

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith("no answer within its timeout of 300ms")
    assert not (files.directory / "draft").exists()


def test_what_ignores_term_is_killed_after_the_grace(files: HookFiles) -> None:
    entry = files.command("trap '' TERM\nwhile true; do sleep 0.05; done", timeout_ms=100)

    verdict = asyncio.run(files.ask(entry, options={"command_grace_ms": 100}))

    assert outcomes(verdict) == ["error"]
    assert living_in(files.directory) == []


def test_a_cancelled_dispatch_ends_the_command_first(files: HookFiles) -> None:
    async def cancelled_while_asking() -> None:
        asking = asyncio.create_task(files.ask(files.command("touch begun; sleep 60")))
        await appears(files.directory / "begun")
        asking.cancel()
        await asking

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled_while_asking())
    assert living_in(files.directory) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "exit 1"),
        ("echo 'no such\nservice' >&2; exit 3", "exit 3: no such\nservice"),
        ("no-such-command", "exit 127 (a command it calls was not found): "),
        ("exit 126", "exit 126 (found, but not executable)"),
        ("kill -9 $$", "ended by SIGKILL"),
        ("echo '{\"decision\": '", "its stdout begins like a JSON object but is none"),
        ("echo '{} {}'", "its stdout begins like a JSON object but is none"),
        (
            """echo '{"decision": "block", "reason": "x", "decision": "allow"}'""",
            "begins like a JSON object but is none: the key 'decision' stands twice",
        ),
    ],
)
def test_a_hook_that_fails_blocks_as_a_failure_and_not_as_a_policy(files: HookFiles, script: str, said: str) -> None:
    """B57."""
    verdict = asyncio.run(files.ask(files.command(script)))

    assert outcomes(verdict) == ["error"]
    assert said in reason(verdict)
    assert verdict.violation is not None
    assert verdict.violation.error_class == "hook_error"
    assert verdict.violation.error_message.startswith("Hook policy failed at component_pre_execute, which blocks it: ")


def test_a_file_that_is_not_executable_fails_with_the_fix(files: HookFiles) -> None:
    """B57."""
    entry = files.entry(argv=[files.script("policy.sh", "exit 0", mode=0o644)])

    verdict = asyncio.run(files.ask(entry))

    assert outcomes(verdict) == ["error"]
    assert "is not executable; `chmod +x` makes it so" in reason(verdict)


def test_a_file_that_is_gone_since_the_run_began_fails(files: HookFiles) -> None:
    """B57."""
    entry = files.command("exit 0")
    pipeline = files.pipeline(entry)
    (files.directory / "policy.sh").unlink()

    verdict = asyncio.run(ask_through(pipeline, dispatch_of("component_pre_execute")))

    assert outcomes(verdict) == ["error"]
    assert "there is no file" in reason(verdict)


def test_exit_2_blocks_with_the_end_of_stderr(files: HookFiles) -> None:
    verdict = asyncio.run(files.ask(files.command("echo 'not on a Friday' >&2; exit 2")))

    assert outcomes(verdict) == ["block"]
    assert reason(verdict) == "exit 2: not on a Friday"
    assert verdict.violation is not None
    assert verdict.violation.error_class == "policy"


def test_text_on_stdout_is_no_opinion_and_kept(files: HookFiles) -> None:
    verdict = asyncio.run(files.ask(files.command("echo all is well")))

    assert verdict.outcome == "allow"
    assert verdict.decided is not None
    assert verdict.decided.decisions[0].messages == ["ignored: not a JSON object: all is well"]


def test_an_empty_message_is_none(files: HookFiles) -> None:
    verdict = asyncio.run(files.ask(files.command("""echo '{"systemMessage": "  "}'""")))

    assert (verdict.messages, verdict.decided) == ((), None)


def test_a_string_over_64_kib_comes_as_a_file(files: HookFiles) -> None:
    prompt = "é" * 40_000
    entry = files.command("cat > seen.json")

    asyncio.run(files.ask(entry, document=with_prompt(prompt)))
    asyncio.run(files.ask(entry, document=with_prompt(prompt)))

    seen = json.loads((files.directory / "seen.json").read_bytes())["action"]["prompt"]
    data = prompt.encode()
    path = Path(seen.pop("path"))
    assert seen == {"bytes": len(data), "sha256": sha256(data).hexdigest(), "head": prompt[:1_000]}
    assert path.read_bytes() == data
    assert path.parent == files.directory / "run" / "hook-inputs"
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert len(list(path.parent.iterdir())) == 1


def test_an_input_that_cannot_be_written_is_a_failure_of_the_hook(files: HookFiles) -> None:
    (files.directory / "run").mkdir()
    (files.directory / "run" / "hook-inputs").write_text("in the way")

    verdict = asyncio.run(files.ask(files.command("exit 0"), document=with_prompt("x" * 100_000)))

    assert outcomes(verdict) == ["error"]
    assert reason(verdict).startswith("its input could not be written: ")


def test_no_descriptor_is_left_open(files: HookFiles) -> None:
    async def ask_often() -> tuple[int, int]:
        entry = files.command("echo text >&2; echo {}")
        await files.ask(entry)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            await files.ask(entry)
        return before, len(os.listdir("/proc/self/fd"))

    before, after = asyncio.run(ask_often())
    assert before == after
