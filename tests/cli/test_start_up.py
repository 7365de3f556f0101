"""What a command imports is what its start costs; each pays only for what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.command import CommandLine

_TELL_MODULES = """
import atexit, sys
atexit.register(lambda: print("MODULES", *sys.modules, file=sys.stderr))
from hooks_cli.app import main
main()
"""
_HEAVY = {"pydantic", "rich", "watchfiles", "jsonschema_rs", "cel", "opentelemetry", "tarfile"}


def modules(cli: CommandLine, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _TELL_MODULES, *words],
        cwd=cli.directory,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split()[1:])


def test_the_version_is_told_before_anything_is_imported(cli: CommandLine) -> None:
    assert not modules(cli, "--version") & {*_HEAVY, "typer", "msgspec", "orjson", "asyncio", "yaml", "typing"}


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["--help"], set()),
        (["ls"], set()),
        (["show", "last"], set()),
        (["logs", "last", "hello"], set()),
        (["verify", "last"], set()),
        (["show", "last", "--gates"], set()),
        (["gc", "--dry-run"], set()),
        (["tail", "last", "--no-follow"], set()),
        (["export", "last", "-o", "last.tar.gz"], {"tarfile"}),
        (["validate", "greeting.yaml"], {"yaml"}),
        (["run", "greeting.yaml"], {"yaml", "asyncio"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_plain_command_imports_only_what_it_needs(cli: CommandLine, words: list[str], needed: set[str]) -> None:
    assert cli.hooks("run", "greeting.yaml").code == 0

    assert modules(cli, *words) & {*_HEAVY, "asyncio", "yaml"} == needed


def test_importing_the_package_imports_nothing_of_weight() -> None:
    code = "import sys, hooks; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {*_HEAVY, "asyncio", "msgspec", "orjson", "typing"} & set(loaded)
