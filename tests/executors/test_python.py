"""The python executor: a function's return value is the output, its exception a failure; a class can also be asked."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.executors.builders import KEY, execute, look_up, make_call, orphan
from tests.processes.builders import alive, until

from hooks.executors.base import Absent, CannotTell, Found, InputError, Later, LookUp, Settled
from hooks.executors.python import PythonExecutor
from hooks.secrets import Masker

SOURCE = """
import os, pathlib, time

def add(a, b=1): return {"sum": a + b}
async def later(a): return [a, None]
def fails(): raise LookupError("nothing there")
def surrogate(): raise ValueError("\\udc80")
def quits(): raise SystemExit(3)
def opaque(): return object()
def keyed(idempotency_key): return idempotency_key
def leaves(): print("noise"); os._exit(0)
def waits(ready):
    pathlib.Path(ready).touch()
    time.sleep(9999)
def slow(ready):
    pathlib.Path(ready).touch()
    time.sleep(0.2)
    return {"pid": os.getpid()}

made = []

class Publish:
    def __init__(self): made.append(self)
    def prepare(self, title):
        if not title: raise ValueError("a title is wanted")
        return {"title": title.strip()}
    def execute(self, title, idempotency_key): return [title, idempotency_key, len(made)]
    async def lookup(self, key, title):
        if title == "broken": raise OSError("no connection")
        return {"key": key, "title": title} if title == "known" else None
"""
BOTH = pytest.mark.parametrize("isolate", [False, True], ids=["here", "isolated"])


@pytest.fixture
def python() -> PythonExecutor:
    return PythonExecutor()


@pytest.fixture(autouse=True)
def _steps(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(SOURCE)


def step(name: str, isolate: bool = False, **args: object) -> dict[str, object]:
    return {"callable": f"steps.py:{name}", "args": args, "isolate": isolate}


@BOTH
def test_what_a_function_returns_is_the_output(python: PythonExecutor, tmp_path: Path, isolate: bool) -> None:
    assert execute(python, tmp_path, step("add", isolate, a=2)) == Settled("done", {"sum": 3})
    assert execute(python, tmp_path, step("later", isolate, a="x")) == Settled("done", ["x", None])


@BOTH
@pytest.mark.parametrize(
    ("function", "args", "outcome", "code", "fault", "message"),
    [
        ("fails", {}, "failed", "LookupError", "retryable", "raised LookupError: nothing there"),
        ("surrogate", {}, "failed", "ValueError", "retryable", "raised ValueError: ?"),
        ("quits", {}, "failed", "CallableError", "retryable", "SystemExit: 3"),
        ("opaque", {}, "done", "OutputNotJson", "fatal", "a object is not a JSON value"),
        ("add", {"c": 1}, "not_done", "ArgumentsMismatch", "userFault", "missing a required argument: 'a'"),
    ],
)
def test_every_failure_is_an_outcome(
    python: PythonExecutor,
    tmp_path: Path,
    isolate: bool,
    function: str,
    args: dict[str, object],
    outcome: str,
    code: str,
    fault: str,
    message: str,
) -> None:
    settled = execute(python, tmp_path, step(function, isolate, **args))

    assert settled.error is not None
    assert (settled.outcome, settled.error.error_code, settled.error.error_class) == (outcome, code, fault)
    assert message in settled.error.error_message


@pytest.mark.parametrize(
    "resolved_input",
    [{}, {"callable": ["x"]}, {"callable": "a:b", "args": [1]}, {"fn": "a:b"}, {"callable": "os:getcwd", "isolate": 1}],
)
def test_an_input_that_cannot_be_performed_is_refused(
    python: PythonExecutor, tmp_path: Path, resolved_input: dict[str, object]
) -> None:
    with pytest.raises(InputError, match=r"input\."):
        python.prepare(resolved_input, working_directory=tmp_path, workflow_directory=tmp_path)


def test_a_callable_that_is_not_there_is_told_before_the_call(python: PythonExecutor, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no 'sub'"):
        make_call(python, tmp_path, step("sub"))


@BOTH
def test_a_callable_that_has_gone_since_is_not_done(python: PythonExecutor, tmp_path: Path, isolate: bool) -> None:
    call = make_call(python, tmp_path, step("add", isolate, a=1))
    (tmp_path / "steps.py").unlink()

    settled = asyncio.run(python.execute(call))

    assert settled.outcome == "not_done"
    assert settled.error is not None
    assert settled.error.error_code == "CallableNotFound"


@BOTH
def test_a_function_that_asks_for_the_key_is_given_it(python: PythonExecutor, tmp_path: Path, isolate: bool) -> None:
    assert execute(python, tmp_path, step("keyed", isolate)) == Settled("done", KEY)
    assert execute(python, tmp_path, step("keyed", isolate, idempotency_key="own")) == Settled("done", "own")


def test_a_class_is_made_once_and_may_prepare_its_arguments(python: PythonExecutor, tmp_path: Path) -> None:
    for _ in range(2):
        assert execute(python, tmp_path, step("Publish", title=" news ")) == Settled("done", ["news", KEY, 1])


def test_what_prepare_refuses_is_not_called(python: PythonExecutor, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="prepare raised ValueError: a title is wanted"):
        make_call(python, tmp_path, step("Publish", title=""))


@BOTH
@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("known", Found(Settled("done", {"key": KEY, "title": "known"}))),
        ("other", Absent()),
        ("broken", Later("steps.py:Publish: lookup raised OSError: no connection")),
    ],
)
def test_a_class_can_be_asked_whether_a_call_happened(
    python: PythonExecutor, tmp_path: Path, isolate: bool, title: str, said: LookUp
) -> None:
    assert look_up(python, tmp_path, step("Publish", isolate, title=title)) == said


@BOTH
def test_a_function_cannot_be_asked(python: PythonExecutor, tmp_path: Path, isolate: bool) -> None:
    assert look_up(python, tmp_path, step("add", isolate, a=1)) == CannotTell("steps.py:add has no `lookup`.")


def test_only_what_has_a_look_up_says_so(python: PythonExecutor, tmp_path: Path) -> None:
    calls = [make_call(python, tmp_path, step(name, title="x")) for name in ("add", "Publish")]

    assert [python.can_look_up(call.input) for call in calls] == [False, True]


@BOTH
def test_secrets_are_masked_in_what_it_returns_and_raises(
    python: PythonExecutor, tmp_path: Path, isolate: bool
) -> None:
    masker = Masker({"TOKEN": "s3cret-value", "WORD": "nothing there"})

    done = execute(python, tmp_path, step("later", isolate, a="s3cret-value"), masker=masker)
    failed = execute(python, tmp_path, step("fails", isolate), masker=masker)

    assert done == Settled("done", ["[secret TOKEN]", None])
    assert failed.error is not None
    assert "raised LookupError: [secret WORD]" in failed.error.error_message
    assert "nothing there" not in str(failed.error.details)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


def test_an_isolated_process_that_says_nothing_leaves_the_outcome_unknown(
    python: PythonExecutor, tmp_path: Path
) -> None:
    settled = execute(python, tmp_path, step("leaves", isolate=True))

    assert settled.outcome == "unknown"


def test_an_isolated_function_is_ended_when_it_is_cancelled(python: PythonExecutor, tmp_path: Path) -> None:
    call = make_call(python, tmp_path, step("waits", isolate=True, ready=str(tmp_path / "ready")))

    async def scenario() -> None:
        running = asyncio.create_task(python.execute(call))
        await until((tmp_path / "ready").exists)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())
    assert alive(call.marker) == []


def test_an_isolated_function_outlives_its_driver_and_is_adopted(python: PythonExecutor, tmp_path: Path) -> None:
    call = make_call(python, tmp_path, step("slow", isolate=True, ready=str(tmp_path / "ready")))
    orphan("python", call, tmp_path / "ready")

    async def scenario() -> Settled | None:
        async with asyncio.timeout(20):
            return await python.adopt(call)

    settled = asyncio.run(scenario())
    assert settled is not None
    assert settled.outcome == "done"
    assert settled.output["pid"] != os.getpid()


def test_an_exception_that_cannot_speak_is_an_outcome_like_others(tmp_path: Path) -> None:
    source = (
        "class Mute(Exception):\n  def __str__(self): raise RuntimeError\n  __repr__ = __str__\ndef f(): raise Mute"
    )
    (tmp_path / "mute.py").write_text(source)

    settled = execute(PythonExecutor(), tmp_path, {"callable": "mute.py:f"})

    assert settled.outcome == "failed"
    assert settled.error is not None
    assert settled.error.error_code == "Mute"
    assert "its message cannot be had" in settled.error.error_message


def test_an_output_that_nothing_can_be_said_of_is_done_and_unusable(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "class K:\n  def __repr__(self): raise RuntimeError\ndef f(): return {K(): 10**5000}"
    )

    settled = execute(PythonExecutor(), tmp_path, {"callable": "odd.py:f"})

    assert settled.outcome == "done"
    assert settled.error is not None
    assert settled.error.error_code == "OutputNotJson"
