"""The python executor: a function's return value is the output, its exception a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.executors.builders import execute

from hooks.executors.base import InputError, Settled
from hooks.executors.python import PythonExecutor

PYTHON = PythonExecutor()
SOURCE = """
def add(a, b=1): return {"sum": a + b}
async def later(a): return [a, None]
def fails(): raise LookupError("nothing there")
def quits(): raise SystemExit(3)
def opaque(): return object()
"""


def run(tmp_path: Path, function: str, **args: object) -> Settled:
    (tmp_path / "steps.py").write_text(SOURCE)
    return execute(PYTHON, tmp_path, {"callable": f"steps.py:{function}", "args": args})


def test_what_a_function_returns_is_the_output(tmp_path: Path) -> None:
    assert run(tmp_path, "add", a=2) == Settled("done", {"sum": 3})
    assert run(tmp_path, "later", a="x") == Settled("done", ["x", None])
    assert execute(PYTHON, tmp_path, {"callable": "os.path:basename", "args": {"p": "a/b"}}) == Settled("done", "b")


@pytest.mark.parametrize(
    ("function", "args", "outcome", "code", "fault", "message"),
    [
        ("fails", {}, "failed", "LookupError", "retryable", "raised LookupError: nothing there"),
        ("quits", {}, "failed", "CallableError", "retryable", "SystemExit: 3"),
        ("opaque", {}, "done", "OutputNotJson", "fatal", "a object is not a JSON value"),
        ("add", {"c": 1}, "not_done", "ArgumentsMismatch", "userFault", "missing a required argument: 'a'"),
        ("sub", {}, "not_done", "CallableNotFound", "userFault", "has no 'sub'"),
    ],
)
def test_every_failure_is_an_outcome(
    tmp_path: Path, function: str, args: dict[str, object], outcome: str, code: str, fault: str, message: str
) -> None:
    settled = run(tmp_path, function, **args)

    assert settled.error is not None
    assert (settled.outcome, settled.error.error_code, settled.error.error_class) == (outcome, code, fault)
    assert message in settled.error.error_message


@pytest.mark.parametrize("resolved_input", [{}, {"callable": ["x"]}, {"callable": "a:b", "args": [1]}, {"fn": "a:b"}])
def test_an_input_that_cannot_be_performed_is_refused(tmp_path: Path, resolved_input: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"input\."):
        PYTHON.prepare(resolved_input, working_directory=tmp_path, workflow_directory=tmp_path)
