"""A name stands for an executor that comes with hooks, is declared, or is installed, in this order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.executors.distribution import MODULE, install

from hooks.definition.model import ExecutorDeclaration
from hooks.errors import UsageError
from hooks.executors.declared import DeclaredCommand, DeclaredFunction
from hooks.executors.registry import EXECUTORS, make_executor


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)


def test_every_name_has_its_executor() -> None:
    assert {name: type(make_executor(name)) for name in EXECUTORS} == EXECUTORS


def test_a_declared_name_has_the_executor_that_is_declared() -> None:
    declarations = [ExecutorDeclaration(name="send", argv=["./send"]), ExecutorDeclaration(name="f", callable="m:f")]

    assert [type(make_executor(name, declarations)) for name in ("send", "f")] == [DeclaredCommand, DeclaredFunction]


def test_an_unknown_name_is_answered_with_a_close_one() -> None:
    with pytest.raises(UsageError, match="'shel'") as caught:
        make_executor("shel")
    assert caught.value.fix == "Did you mean 'shell'?"

    with pytest.raises(UsageError) as caught:
        make_executor("sned", [ExecutorDeclaration(name="send", argv=["./send"])])
    assert caught.value.fix == "Did you mean 'send'?"


@pytest.mark.usefixtures("_installed")
def test_an_installed_executor_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(UsageError, match="'half' that is installed lacks execute, adopt, can_look_up"):
        make_executor("half")
    with pytest.raises(UsageError, match=f"'broken' .* cannot be loaded from {MODULE}:Missing"):
        make_executor("broken")


@pytest.mark.parametrize(("name", "vouches"), [("http", True), ("file", True), ("shell", False), ("python", False)])
def test_only_who_knows_what_it_has_done_vouches_for_a_retry(name: str, vouches: bool) -> None:
    assert make_executor(name).may_retry({}) is vouches


def test_a_distribution_on_the_path_of_a_new_process_is_found(tmp_path: Path) -> None:
    install(tmp_path)
    script = "from hooks.executors.registry import make_executor; print(type(make_executor('notes')).__name__)"

    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout == "Notes\n"


def test_known_names_do_not_read_what_is_installed() -> None:
    script = "import sys; from hooks.executors.registry import make_executor; make_executor('http'); "
    script += "print([name for name in ('importlib.metadata', 'httpx') if name in sys.modules])"

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"
