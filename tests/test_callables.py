"""Callables are found by name or file, and called so that none of them can block or end the driver."""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hooks.callables import CallableError, call, in_thread, load_callable
from hooks.errors import describe_exception


def module(tmp_path: Path, source: str, name: str = "tools.py") -> str:
    (tmp_path / name).write_text(source)
    return name


def test_a_function_of_a_module_and_of_a_class_in_it_is_found(tmp_path: Path) -> None:
    import json

    assert load_callable("json:dumps", tmp_path) is json.dumps
    assert load_callable("json:JSONDecoder.decode", tmp_path) is json.JSONDecoder.decode


def test_a_file_is_found_from_the_base_and_stays_out_of_the_import_path(tmp_path: Path) -> None:
    module(tmp_path, "def double(n): return 2 * n")
    path_before, modules_before = list(sys.path), set(sys.modules)

    assert load_callable("tools.py:double", tmp_path)(4) == 8
    assert sys.path == path_before
    assert all(name.startswith("_hooks_file_") for name in set(sys.modules) - modules_before)
    assert [path.name for path in tmp_path.iterdir()] == ["tools.py"]


def test_a_file_runs_once_until_it_changes(tmp_path: Path) -> None:
    module(tmp_path, "calls = []\ndef count(): calls.append(1); return len(calls)")
    assert [load_callable("tools.py:count", tmp_path)() for _ in range(2)] == [1, 2]

    module(tmp_path, "def count(): return 'new'")
    assert load_callable("tools.py:count", tmp_path)() == "new"


def test_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        module(tmp_path / name, f"from dataclasses import dataclass\n@dataclass\nclass C:\n  x: 'str' = '{name}'")

    assert [load_callable("tools.py:C", tmp_path / name)().x for name in ("a", "b")] == ["a", "b"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("tools", "names no callable"),
        (":f", "names no callable"),
        ("tools.py:", "names no callable"),
        ("missing.py:f", "Cannot read .*missing.py"),
        ("no_such_module_here:f", "loading no_such_module_here failed: ModuleNotFoundError"),
        ("tools.py:doubel", "has no 'doubel'. Did you mean 'double'"),
        ("tools.py:LIMIT", "is a int, not a function"),
        ("broken.py:f", "loading broken.py failed: SyntaxError"),
        ("quits.py:f", "loading quits.py failed: SystemExit: 3"),
    ],
)
def test_what_cannot_be_loaded_says_why(tmp_path: Path, reference: str, message: str) -> None:
    module(tmp_path, "LIMIT = 1\ndef double(n): return 2 * n")
    module(tmp_path, "def f(:", "broken.py")
    module(tmp_path, "raise SystemExit(3)", "quits.py")

    with pytest.raises(CallableError, match=message):
        load_callable(reference, tmp_path)


def test_a_module_that_was_meant_for_a_file_is_pointed_to_it(tmp_path: Path) -> None:
    module(tmp_path, "def f(): ...", "pyhook.py")

    with pytest.raises(CallableError) as raised:
        load_callable("pyhook:f", tmp_path)

    assert str(raised.value).endswith(f'; write "./pyhook.py:f" for the file {tmp_path / "pyhook.py"}')


async def _double(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


class _AsyncDouble:
    async def __call__(self, n: int) -> int:
        return await _double(n)


@pytest.mark.parametrize("function", [lambda n: 2 * n, _double, partial(_double), _AsyncDouble(), lambda n: _double(n)])
def test_sync_and_async_functions_answer_alike(function: Any) -> None:
    assert asyncio.run(call(function, 21)) == 42


def test_an_async_function_runs_in_the_loop_and_a_sync_one_beside_it() -> None:
    async def here() -> threading.Thread:
        return threading.current_thread()

    assert asyncio.run(call(here)) is threading.main_thread()
    assert asyncio.run(call(threading.current_thread)) is not threading.main_thread()


def test_context_variables_are_seen() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    async def scenario() -> Any:
        variable.set("seen")
        return await call(variable.get)

    assert asyncio.run(scenario()) == "seen"


def _raise(error: BaseException) -> None:
    raise error


async def _raise_async(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("function", [_raise, _raise_async])
@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError("mine")])
def test_a_function_cannot_end_or_cancel_the_driver(function: Any, error: BaseException) -> None:
    with pytest.raises(CallableError, match=type(error).__name__):
        asyncio.run(call(function, error))


@pytest.mark.parametrize("function", [_raise, _raise_async])
def test_other_errors_pass_as_they_are(function: Any) -> None:
    with pytest.raises(KeyError, match="x"):
        asyncio.run(call(function, KeyError("x")))


def test_stop_iteration_is_an_error_like_others() -> None:
    with pytest.raises(CallableError, match="StopIteration"):
        asyncio.run(call(_raise, StopIteration()))


def test_keyword_arguments_may_have_any_name() -> None:
    assert asyncio.run(call(dict, function=1, args=2, self=3)) == {"function": 1, "args": 2, "self": 3}


def test_an_abandoned_sync_function_holds_up_neither_loop_nor_exit() -> None:
    script = """
import asyncio, threading
from hooks.callables import CallableError, call, in_thread, load_callable
from hooks.errors import describe_exception
async def main():
    try:
        async with asyncio.timeout(0.05):
            await call(threading.Event().wait)
    except TimeoutError:
        print("abandoned")
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, check=True, timeout=20)
    assert (done.stdout, done.stderr) == (b"abandoned\n", b"")


def test_a_file_that_hangs_while_it_is_loaded_holds_up_no_other(tmp_path: Path) -> None:
    module(tmp_path, "import threading\ngoing_on.wait()\ndef f(): return 1", "slow.py")
    module(tmp_path, "def f(): return 2", "quick.py")
    going_on = builtins.going_on = threading.Event()  # type: ignore[attr-defined]

    async def scenario() -> tuple[int, int]:
        hanging = asyncio.ensure_future(in_thread(partial(load_callable, "slow.py:f", tmp_path)))
        quick = await in_thread(partial(load_callable, "quick.py:f", tmp_path))
        assert not hanging.done()
        going_on.set()
        return (await hanging)(), quick()

    try:
        assert asyncio.run(scenario()) == (1, 2)
    finally:
        del builtins.going_on  # type: ignore[attr-defined]


def test_a_name_that_leads_to_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")

    with pytest.raises(CallableError, match=r"Cannot read .*pipe.py: it is a FIFO, not a file"):
        load_callable("pipe.py:f", tmp_path)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class MuteExit(SystemExit):
    __str__ = __repr__ = Mute.__str__


@pytest.mark.parametrize("function", [_raise, _raise_async])
def test_what_cannot_speak_cannot_end_the_driver_either(function: Any) -> None:
    with pytest.raises(CallableError, match=r"MuteExit: .its message cannot be had: __str__ raised RuntimeError"):
        asyncio.run(call(function, MuteExit()))


def test_an_exception_is_described_by_its_type_and_message() -> None:
    described = [describe_exception(error) for error in (ValueError("no \udcff"), KeyError(), Mute())]

    assert described == [
        "ValueError: no ?",
        "KeyError",
        "Mute: (its message cannot be had: __str__ raised RuntimeError)",
    ]
