"""The sampling loop around a real model: what is refused is drawn again, and so is what the server's end cut off."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from tests.cli.command import CommandLine
from tests.real_model.conftest import start_server

REFUSED_ONCE = """\
workflow_id: person
agents:
  writer:
    kind: openai
    base_url: {url}/v1
    model: smollm2
    model_options: {{max_tokens: 120, seed: 1}}
    timeout: 5m
nodes:
  draft:
    agent: writer
    prompt: Invent a person. Answer in JSON.
    output_schema:
      type: object
      properties: {{name: {{type: string, maxLength: 20}}, age: {{type: integer}}}}
      required: [name, age]
      additionalProperties: false
    requirements:
      - name: second
        command: [sh, -c, "echo x >> asked; test $(wc -l < asked) -ge 2 || {{ echo once more; exit 1; }}"]
    sampling: {{strategy: repair_template, loop_budget: 3}}
"""
CUT_OFF = """\
workflow_id: counting
agents:
  writer:
    kind: openai
    base_url: {url}/v1
    model: smollm2
    model_options: {{max_tokens: 200, temperature: 0.8}}
    timeout: 5m
defaults: {{retry: {{max_attempts: 20, backoff: fixed, base: 1s}}}}
nodes:
  count:
    agent: writer
    prompt: Count from one to a thousand, in words.
    requirements: [{{name: something, regex: "."}}]
    sampling: {{loop_budget: 2}}
"""


def payloads(cli: CommandLine, kind: str) -> list[Any]:
    return [line["payload"] for line in cli.log_lines("r") if line["type"] == kind]


def test_an_answer_that_is_refused_is_asked_for_again_and_its_form_and_price_are_in_the_log(
    model_url: str, tmp_path: Path
) -> None:
    cli = CommandLine(tmp_path)
    cli.write("w.yaml", REFUSED_ONCE.format(url=model_url.removesuffix("/v1")))

    ended = cli.hooks("run", "w.yaml", "--run-id", "r")

    assert ended.code == 0, ended.err
    assert ended.document["draft"].keys() == {"name", "age"}
    assert isinstance(ended.document["draft"]["age"], int)
    asked, answered = payloads(cli, "generationStarted"), payloads(cli, "generationFinished")
    assert [call["draw"] for call in asked] == [1, 2]
    assert asked[0]["format"]["required"] == ["name", "age"]
    assert "- once more" in asked[1]["prompt"]
    assert all(call["usage"]["completion_tokens"] > 0 for call in answered)
    assert answered[0]["usage"]["prompt_tokens"] < answered[1]["usage"]["prompt_tokens"]
    assert [draw["passed"] for draw in payloads(cli, "samplingIteration")] == [False, True]
    assert cli.hooks("verify", "r").code == 0
    assert cli.hooks("replay", "r").code == 0
    draws = cli.hooks("show", "r", "--node", "draft", "--json").document["sampling"]["draws"]
    assert [(draw["passed"], draw["chosen"], draw["model"]) for draw in draws] == [
        (False, False, "smollm2"),
        (True, True, "smollm2"),
    ]


def test_a_draw_that_the_servers_end_cut_off_is_made_again_in_the_same_loop(model_file: Path, tmp_path: Path) -> None:
    server = tmp_path / "server"
    (server / "users").mkdir(parents=True)
    (server / "users" / str(os.getpid())).touch()
    start_server(model_file, server)
    url = (server / "url").read_text()
    cli = CommandLine(tmp_path)
    cli.write("w.yaml", CUT_OFF.format(url=url))

    run = cli.start("run", "w.yaml", "--run-id", "r")
    until(lambda: httpx.get(f"{url}/slots", trust_env=False).json()[0]["is_processing"])
    os.kill(int((server / "pid").read_text()), signal.SIGKILL)
    until(lambda: b"generationRetryScheduled" in (cli.runs / "r" / "events.jsonl").read_bytes())
    (server / "url").unlink()
    start_server(model_file, server, port=urlsplit(url).port or 0)
    _, err = run.communicate(timeout=300)

    assert run.returncode == 0, err
    asked = payloads(cli, "generationStarted")
    assert {(call["draw"], call["attemptId"]) for call in asked} == {(1, "r::work::count::att-1")}
    assert [call.get("call", 1) for call in asked] == list(range(1, len(asked) + 1))
    errors = [call["error"]["errorClass"] for call in payloads(cli, "generationFinished") if "error" in call]
    assert set(errors) == {"retryable"}
    assert len(errors) == len(asked) - 1 == len(payloads(cli, "generationRetryScheduled"))
    assert [draw["passed"] for draw in payloads(cli, "samplingIteration")] == [True]
    assert cli.hooks("verify", "r").code == 0
    assert b"draw 1 again in" in err


def test_the_sample_of_a_review_takes_a_model_by_one_change(model_url: str, tmp_path: Path) -> None:
    """Forms are asserted: the checks, the judge and the person see answers of the model, good or bad."""
    sample = Path(__file__).parents[2] / "sample_runs" / "review_loop"
    shutil.copytree(sample, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("recorded"))
    local = (tmp_path / "local.yaml").read_text()
    assert "http://127.0.0.1:8080/v1" in local
    seeded = local.replace("temperature: 0.7", "temperature: 0.7, seed: 1")
    (tmp_path / ".hooks" / "config.yaml").write_text(seeded.replace("http://127.0.0.1:8080/v1", model_url))
    cli = CommandLine(tmp_path)

    started = cli.hooks("run", "workflow.yaml", "--run-id", "r")

    assert started.code == 4, started.err
    assert {call["agent"] for call in payloads(cli, "generationStarted")} == {"reviewer", "critic"}
    assert all(call["usage"]["completion_tokens"] > 0 for call in payloads(cli, "generationFinished"))
    draft = cli.hooks("show", "r", "--node", "draft", "--json").document
    assert draft["output"].keys() == {"title", "body"}
    assert 1 <= len(draft["sampling"]["draws"]) <= 3


def until(is_so: Callable[[], Any], within_s: float = 120) -> None:
    give_up = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.05)
