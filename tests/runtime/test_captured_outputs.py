"""What steps print: cut values are never bound, secrets do not stay in what a killed step has left."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.definition.model import HostExecutorNode, Workflow
from hooks.events.payloads import ActivityFailed
from hooks.processes.launch import Child, launch
from hooks.runtime.work_engine import LocalWorkEngine
from hooks.secrets import Masker
from tests.executors.http_server import LocalServer, serving
from tests.processes.builders import alive, until
from tests.processes.builders import shell as shell_child
from tests.runtime.runs import Runs, agent_step, sh


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as local:
        yield local


def test_a_cut_stdout_is_not_bound_and_its_file_is_named(runs: Runs) -> None:
    runs.run(
        sh("a", "head -c 1100000 /dev/zero | tr '\\0' x"),
        HostExecutorNode(
            id="b", executor="shell", input={"argv": ["cat"], "stdin": "${a.output.stdout}"}, depends=["a"]
        ),
    )

    error = runs.only(ActivityFailed).error
    assert error.error_code == "UnresolvedReference"
    assert "the output was cut: 1048576 of 1100000 bytes are here; all: attempts/" in error.error_message


@pytest.mark.parametrize("field", ["body", "json"])
def test_a_cut_body_is_not_bound(runs: Runs, server: LocalServer, field: str) -> None:
    get = HostExecutorNode(id="a", executor="http", read_only=True, input={"url": server.url("/large/1100000")})
    use = HostExecutorNode(
        id="b", executor="shell", input={"argv": ["cat"], "stdin": f"${{a.output.{field}}}"}, depends=["a"]
    )
    runs.run(get, use)

    error = runs.only(ActivityFailed).error
    assert error.error_code == "UnresolvedReference"
    assert "the output was cut. `max_output_bytes` of the node says" in error.error_message


def test_the_other_fields_of_a_cut_output_are_bound(runs: Runs) -> None:
    report = runs.run(
        sh("a", "head -c 1100000 /dev/zero | tr '\\0' x"),
        sh("b", "echo ${a.output.stdout_bytes}", depends=["a"]),
    )

    assert report.output()["b"]["stdout"] == "1100000\n"


def test_an_answer_in_which_a_key_stands_twice_is_refused(runs: Runs) -> None:
    schema = {"type": "object"}
    runs.run(agent_step("a", '{"approved": false, "approved": true}', output_schema=schema))

    error = runs.only(ActivityFailed).error
    assert error.error_code == "RequirementsNotMet"
    assert "the key 'approved' stands twice in one object" in error.error_message


def test_what_is_left_of_a_step_is_ended_and_what_it_printed_is_masked(tmp_path: Path) -> None:
    child: Child = shell_child(tmp_path, "echo s3cret-value; touch ready; sleep 9999")
    launcher: subprocess.Popen[bytes] = launch(child)
    engine = LocalWorkEngine(Workflow(workflow_id="w", version=1, agents=[], nodes=[]), tmp_path)

    async def scenario() -> None:
        await until((tmp_path / "ready").exists)
        await engine.end_leftovers(child.marker, 0, child.directory, Masker({"TOKEN": "s3cret-value"}))

    asyncio.run(scenario())
    launcher.wait()
    assert alive(child.marker) == []
    assert (child.directory / "stdout").read_text() == "[secret TOKEN]\n"
