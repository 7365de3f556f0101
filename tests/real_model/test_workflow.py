"""A workflow whose agent is a real model: what is known of each draw is in the log."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import CommandLine

WORKFLOW = """\
workflow_id: person
agents:
  writer:
    kind: openai
    base_url: {url}
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
"""


def test_a_step_is_answered_by_the_model_and_the_log_says_what_it_took(model_url: str, tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli.write("w.yaml", WORKFLOW.format(url=model_url))

    ended = cli.hooks("run", "w.yaml")

    assert ended.code == 0, ended.err
    assert ended.document["draft"].keys() == {"name", "age"}
    (log,) = tmp_path.rglob("events.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    (draw,) = [event for event in events if event["type"] == "generationFinished"]
    assert draw["payload"]["model"] == "smollm2"
    assert draw["payload"]["finishReason"] == "stop"
    assert draw["payload"]["usage"]["completion_tokens"] > 0
