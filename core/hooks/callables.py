"""Callables that a workflow names: found by `module:function` or `file.py:function`, and called without blocking.

A file is loaded by its path under a private module name, so that no project directory enters sys.path and two files
of one name do not meet. A sync function runs in a daemon thread of its own: Python cannot end a thread, so one that is
abandoned (timeout, cancellation) must hold up neither the loop nor the exit of the process.
"""

from __future__ import annotations

import asyncio
import contextvars
import difflib
import importlib
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hooks.errors import describe_exception
from hooks.regular_files import read_regular

# A module must be in sys.modules while it is being executed; without a lock a second thread would find it half made.
# Each has its own, by the name it is loaded under: one that hangs holds up nobody who wants another.
_loading: dict[str, threading.RLock] = {}
_apart: ContextVar[str] = ContextVar("_apart", default="")
"""What the names of modules end with that are loaded here, so that others do not share them."""
_numbers = itertools.count(1)


class CallableError(Exception):
    """A named callable cannot be found, loaded or used as one; says which and why."""


def load_callable(reference: str, base: Path) -> Callable[..., Any]:
    """The callable that `reference` names; a relative file is looked for from `base`. Raises CallableError.

    A file is executed once, and again when its content has changed.
    """
    found = load_named(reference, base)
    if not callable(found):
        raise CallableError(f"{reference!r} is a {type(found).__name__}, not a function.")
    return found  # type: ignore[no-any-return]


def load_named(reference: str, base: Path) -> Any:
    """Whatever `reference` names, like `load_callable`."""
    place, separator, name = reference.rpartition(":")
    if not (place and separator and name):
        raise CallableError(f'{reference!r} names no callable; write "module:function" or "file.py:function".')
    try:
        module = _load_file(base / place) if place.endswith(".py") else importlib.import_module(place)
    except CallableError:
        raise
    except (Exception, SystemExit) as error:
        hint = _beside(place, name, base) if isinstance(error, ModuleNotFoundError) else ""
        raise CallableError(f"{reference!r}: loading {place} failed: {describe_exception(error)}{hint}") from error
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise CallableError(f"{reference!r}: {place} has no {name!r}.{_did_you_mean(part, found)}") from None
        except Exception as error:
            what = f"looking for {name!r} in {place} failed: {describe_exception(error)}"
            raise CallableError(f"{reference!r}: {what}") from error
    return found


@contextmanager
def files_executed_anew() -> Iterator[None]:
    """While this is entered, each file is executed once more for whoever is in here, and forgotten on leaving.

    So what a module keeps in itself begins anew, as in a process of its own; what is imported by name is shared.
    """
    ending = f"_{next(_numbers)}"
    before = _apart.set(ending)
    try:
        yield
    finally:
        _apart.reset(before)
        for name in [name for name in [*_loading] if name.endswith(ending)]:
            sys.modules.pop(name, None)
            _loading.pop(name, None)


async def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What the function returns: an async one is awaited here, a sync one runs in a daemon thread.

    Context variables are seen by both. Cancelled, a sync function is abandoned and runs on unobserved. A function that
    raises SystemExit or KeyboardInterrupt, or CancelledError when nobody cancelled it, raises CallableError instead: it
    must not end us.
    """
    if _is_async(function):
        return await _await(function(*args, **kwargs))
    result = await in_thread(partial(function, *args, **kwargs))
    return await _await(result) if inspect.isawaitable(result) else result


def in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Start `work` in a daemon thread of its own; the future has what it returns or raises."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(ending: _Ending) -> None:
        if future.done():
            return  # abandoned
        if ending.error is None:
            future.set_result(ending.result)
        else:
            future.set_exception(ending.error)

    def run() -> None:
        ending = _run(partial(context.run, work))
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, ending)

    threading.Thread(target=run, name="hooks-callable", daemon=True).start()
    return future


@dataclass(frozen=True, slots=True)
class _Ending:
    result: Any = None
    error: Exception | None = None


def _run(work: Callable[[], Any]) -> _Ending:
    try:
        return _Ending(result=work())
    except StopIteration as error:
        # A future cannot carry it.
        return _Ending(error=_caused_by(error))
    except Exception as error:  # noqa: BLE001  whatever it is, it is the answer
        return _Ending(error=error)
    except BaseException as error:  # noqa: BLE001  in the loop it would end the driver
        return _Ending(error=_caused_by(error))


async def _await(awaitable: Any) -> Any:
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        raise _caused_by(error) from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise _caused_by(error) from error


def _caused_by(error: BaseException) -> CallableError:
    wrapped = CallableError(f"The function raised {describe_exception(error)}")
    wrapped.__cause__ = error
    return wrapped


def _is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _load_file(path: Path) -> ModuleType:
    try:
        source = read_regular(path, follow_links=True)
    except OSError as error:
        raise CallableError(f"Cannot read {path}: {error.strerror}.") from error
    path = path.absolute()
    digest = sha256(str(path).encode("utf-8", "surrogateescape") + b"\0" + source).hexdigest()
    name = f"_hooks_file_{digest[:32]}{_apart.get()}"
    with _loading.setdefault(name, threading.RLock()):
        if name in sys.modules:
            return sys.modules[name]
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise CallableError(f"{path} cannot be loaded as Python.")
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            # Compiled from the bytes that were hashed: no stale cache, and no __pycache__ beside a user's file.
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
        return module


def _beside(module: str, name: str, base: Path) -> str:
    """What to write where a file was meant and a module was named."""
    file = module.replace(".", "/") + ".py"
    return f'; write "./{file}:{name}" for the file {base / file}' if (base / file).is_file() else ""


def _did_you_mean(name: str, holder: Any) -> str:
    close = difflib.get_close_matches(name, dir(holder), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
