"""Whether the programs and functions a definition names can be used, as far as that shows without running anything.

What stands in a file that the definition names is the definition's own fault, and an error. What depends on the
environment (a program in PATH, an installed module) may be there where the run will be, so it is only warned about.
Nothing is looked at unless the source says where relative files are: `Source.base`.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from hooks.definition.fields import did_you_mean
from hooks.definition.tree import Node, Source

_MAKES_NAMES_AT_RUN_TIME = frozenset({"globals", "vars", "exec", "setattr"})


def check_program(source: Source, node: Node, word: str) -> None:
    """Report a command with a slash that is no executable file; warn of a bare one that is not in PATH."""
    if source.base is None or "${" in word:
        return
    if "/" not in word:
        _check_bare(source, source.base, node, word)
        return
    path = source.base / word
    if not os.path.isfile(path):
        source.report(node, f"there is no file {path}", _where_else(word, "beside this file"))
    elif not os.access(path, os.X_OK):
        source.report(node, f"{path} is not executable", f"make it so: `chmod +x {path}`")


def check_step_program(source: Source, node: Node, word: str) -> None:
    """Warn of the command of a step that is not there now; a step before it, or who starts the run, may bring it."""
    if source.base is None or "${" in word:
        return
    if "/" not in word:
        _check_bare(source, source.base, node, word)
    elif not os.path.exists(word) and (beside := source.base / word).exists():
        source.warn(
            node,
            f"there is no `{word}` in the current directory, from where paths of a step resolve; there is {beside}",
            "start the run in that directory, or pass the path as a param",
        )


def check_function(source: Source, node: Node, target: str) -> None:
    """Report a function of a file that has a fault or lacks it; warn of a module that is not installed here."""
    if source.base is None:
        return
    place, _, name = target.rpartition(":")
    if place.endswith(".py"):
        _check_file(source, node, source.base / place, name)
    elif not _is_installed(place.split(".", 1)[0]):
        source.warn(node, f"there is no module `{place}` here", beside_fix(place, name, source.base) or "install it")


def beside_fix(module: str, name: str, directory: Path) -> str | None:
    """What to write instead of `module:name` where a file beside the definition was meant."""
    file = module.replace(".", "/") + ".py"
    return f"write `./{file}:{name}` for the file beside this one" if os.path.isfile(directory / file) else None


def _check_bare(source: Source, base: Path, node: Node, word: str) -> None:
    directories = os.environ.get("PATH", os.defpath).split(os.pathsep)
    candidates = (os.path.join(directory, word) for directory in directories)
    if any(os.path.isfile(path) and os.access(path, os.X_OK) for path in candidates):
        return
    is_beside = os.path.isfile(base / word)
    fix = f"write `./{word}` for the file beside this one" if is_beside else "install it, or give its whole path"
    source.warn(node, f"there is no program `{word}` in PATH here", fix)


def _where_else(word: str, place: str) -> str:
    if os.path.isfile(word):
        return f"relative paths of agents and hooks are looked for {place}, not in the current directory"
    return f"correct the path; it is looked for {place}"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a module without a spec is one that is there
        return True


def _check_file(source: Source, node: Node, path: Path, name: str) -> None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        source.report(node, f"there is no file {path}", _where_else(str(path.name), "beside this file"))
        return
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        source.report(node, f"cannot read {path}: {getattr(error, 'strerror', None) or error}", "correct the path")
        return
    try:
        module = _compiled(data, path)
    except SyntaxError as error:
        source.report(node, f"{path}:{error.lineno or 1}: {error.msg}", "correct the file")
        return
    except (ValueError, RecursionError, MemoryError) as error:
        source.report(node, f"{path} cannot be compiled: {error}", "correct the file")
        return
    names = _names_of(module)
    first = name.split(".", 1)[0]
    if names is not None and first not in names:
        known = ", ".join(sorted(each for each in names if not each.startswith("_"))) or "nothing"
        source.report(node, f"{path} defines no `{first}`", did_you_mean(first, names) or f"it defines {known}")


def _compiled(data: bytes, path: Path) -> ast.Module:
    with warnings.catch_warnings():
        # What the compiler only warns of is told when the file is loaded.
        warnings.simplefilter("ignore")
        module = ast.parse(data, str(path))
        compile(module, str(path), "exec", dont_inherit=True)
    return module


def _names_of(module: ast.Module) -> set[str] | None:
    """The names a module has once it was executed; None if only executing it can tell."""
    names: set[str] = set()
    for node in _top_level(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name="*"):
                return None
            case ast.alias(name=name, asname=asname):
                names.add(asname or name.split(".", 1)[0])
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Name(id=name) if name in _MAKES_NAMES_AT_RUN_TIME:
                return None
    return None if "__getattr__" in names else names


def _top_level(module: ast.Module) -> Iterator[ast.AST]:
    """Every node of the module that does not stand inside a function or a class."""
    pending: list[ast.AST] = list(module.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
