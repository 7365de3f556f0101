"""The direction of imports (DESIGN.md, section 10), read from the source.

A package of core/hooks may import what its row names, and itself; the modules beside the packages (errors, ids, jsonio,
clock, callables) may be imported by all. An import inside a function is there for a heavy third-party library and
nothing else.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "core", ROOT / "cli"]

MAY_IMPORT = {
    "definition": {"expressions"},
    "expressions": set(),
    "events": set(),
    "kernel": {"definition", "events", "expressions"},
    "storage": {"events", "kernel"},
    "processes": set(),
    "pipeline": {"definition", "events", "expressions", "kernel", "processes"},
    "agents": {"definition", "events", "processes"},
    "executors": {"definition", "events", "processes"},
    "sampling": {"definition", "expressions"},
    "telemetry": {"definition", "events"},
    "replay": {"definition", "events", "kernel", "pipeline", "storage"},
    "testing": {"agents", "definition", "events", "kernel", "pipeline", "runtime", "storage"},
    "runtime": {
        "agents",
        "definition",
        "events",
        "executors",
        "expressions",
        "kernel",
        "pipeline",
        "processes",
        "replay",
        "sampling",
        "storage",
        "telemetry",
    },
}
"""What each package of core/hooks may import."""

FOR_ALL = {
    "blotting",
    "callables",
    "clock",
    "entry_points",
    "errors",
    "ids",
    "jsonio",
    "regular_files",
    "secrets",
    "times",
}
CLI_MAY_IMPORT = {"definition", "events", "kernel", "pipeline", "replay", "runtime", "storage", "telemetry"}
PURE = {"expressions", "kernel", "sampling"}
IMPURE_MODULES = {
    "asyncio",
    "os",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
    "pathlib",
    "shutil",
}
IMPORTED_WHEN_USED = {
    "cel",
    "google",  # protobuf
    "httpx",
    "importlib.metadata",
    "jsonschema_rs",
    "openai",
    "opentelemetry",
    "pydantic",
    "requests",
    "urllib3",
    "watchfiles",
    "yaml",
}


@dataclass(frozen=True)
class Import:
    """One imported module; `late` when it stands inside a function."""

    file: Path
    line: int
    module: str
    late: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"

    @property
    def importer(self) -> str:
        """The part of the project the importing file belongs to."""
        return _part(self.file.relative_to(ROOT).parts[1:])

    @property
    def imported(self) -> str:
        return _part(tuple(self.module.split(".")))


def _part(path: tuple[str, ...]) -> str:
    if path[0] == "hooks_cli":
        return "cli"
    return path[1].removesuffix(".py") if len(path) > 1 else "hooks"


def _module(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(file): file for source in SOURCES for file in sorted(source.rglob("*.py"))}


def _imports(file: Path) -> Iterator[Import]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    late = {
        id(inner)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(file, node.lineno, alias.name, id(node) in late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            module = node.module or ""
            # `from hooks import jsonio` imports a module, `from hooks.jsonio import check` a name in one.
            submodules = [f"{module}.{alias.name}" for alias in node.names if f"{module}.{alias.name}" in MODULES]
            yield from (Import(file, node.lineno, name, id(node) in late) for name in submodules or [module])


ALL_IMPORTS = [found for file in MODULES.values() for found in _imports(file)]
OURS = [found for found in ALL_IMPORTS if found.module.split(".")[0] in ("hooks", "hooks_cli")]
# The facade names everything it offers, for type checkers; nothing below it may import from it, which a test holds.
BELOW_THE_FACADE = [found for found in OURS if found.importer != "__init__"]


def _told(imports: list[Import]) -> str:
    return "\n".join(map(str, imports))


def test_every_package_is_in_the_table() -> None:
    packages = {path.parent.name for path in (ROOT / "core" / "hooks").glob("*/__init__.py")}
    modules = {path.stem for path in (ROOT / "core" / "hooks").glob("*.py")} - {"__init__"}

    assert packages == set(MAY_IMPORT)
    assert modules == FOR_ALL


def test_imports_point_down() -> None:
    allowed = {**MAY_IMPORT, "cli": CLI_MAY_IMPORT}
    wrong = [
        found
        for found in BELOW_THE_FACADE
        if found.importer not in FOR_ALL
        and found.imported not in {found.importer, *FOR_ALL, *allowed[found.importer]}
        and not (found.importer == "cli" and found.module == "hooks")
    ]

    assert not wrong, _told(wrong)


def test_the_modules_for_all_need_only_one_another() -> None:
    wrong = [found for found in BELOW_THE_FACADE if found.importer in FOR_ALL and found.imported not in FOR_ALL]

    assert not wrong, _told(wrong)


def test_the_core_does_not_know_the_command_line() -> None:
    wrong = [found for found in OURS if found.importer != "cli" and found.module.startswith("hooks_cli")]

    assert not wrong, _told(wrong)


def test_the_table_has_no_cycle() -> None:
    left = {package: set(below) for package, below in MAY_IMPORT.items()}
    while free := {package for package, below in left.items() if not below & left.keys()}:
        for package in free:
            del left[package]

    assert left == {}


def test_modules_have_no_cycle() -> None:
    """Not even within a package: a concept in the wrong file."""
    edges = {
        name: {found.module for found in _imports(file) if found.module in MODULES} for name, file in MODULES.items()
    }
    edges["hooks"] = set()  # the facade imports on use
    while free := [name for name, below in edges.items() if not below & edges.keys()]:
        for name in free:
            del edges[name]

    assert edges == {}, f"a cycle is among {sorted(edges)}"


def test_an_import_inside_a_function_is_a_heavy_third_party_library() -> None:
    """Or reads what is installed, which costs as much."""
    allowed = IMPORTED_WHEN_USED
    wrong = [
        found
        for found in ALL_IMPORTS
        if found.late and found.module not in allowed and found.module.split(".")[0] not in allowed
    ]

    assert not wrong, _told(wrong)


def test_pure_packages_import_nothing_that_touches_the_world() -> None:
    wrong = [
        found
        for found in ALL_IMPORTS
        if found.importer in PURE and found.module.split(".")[0] in IMPURE_MODULES and not found.late
    ]

    assert not wrong, _told(wrong)


def test_only_failures_exits() -> None:
    allowed = {ROOT / "cli/hooks_cli/failures.py"}
    calls = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in MODULES.values()
        if file not in allowed
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("sys.exit", "exit", "quit", "os._exit")
    ]

    assert calls == []


WANTED_IN = dict.fromkeys(["requests", "urllib3"], "collector_answers.py")
"""Where the OpenTelemetry exporter, which asks by these, is told what to take for an answer."""


@pytest.mark.parametrize("library", ["rich", "requests", "urllib3", "click"])
def test_libraries_that_are_not_wanted_are_not_imported(library: str) -> None:
    wrong = [
        found
        for found in ALL_IMPORTS
        if found.module.split(".")[0] == library and found.file.name != WANTED_IN.get(library)
    ]

    assert not wrong, _told(wrong)


def test_what_is_imported_is_declared() -> None:
    declared = {
        "cel",
        "httpx",
        "jsonschema_rs",
        "msgspec",
        "openai",  # an extra
        "google",  # protobuf, which opentelemetry brings
        "opentelemetry",  # an extra
        "orjson",
        "pydantic",
        "pydantic_core",
        "requests",  # which the exporter of opentelemetry brings
        "typer",
        "urllib3",  # which requests brings
        "watchfiles",
        "yaml",
    }
    foreign = {found.module.split(".")[0] for found in ALL_IMPORTS} - {"hooks", "hooks_cli", *sys.stdlib_module_names}

    assert foreign <= declared
