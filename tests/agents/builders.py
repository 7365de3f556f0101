"""Requests for tests, as the runtime makes them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hooks.agents.base import Agent, AgentError, Generation, GenerationRequest
from hooks.secrets import Masker


def make_request(
    tmp_path: Path,
    prompt: str = "Say hello",
    *,
    options: Mapping[str, Any] | None = None,
    format: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    masker: Masker | None = None,
) -> GenerationRequest:
    marker = f"test-{uuid.uuid4().hex}"
    directory = tmp_path / f".draw-{marker}"
    directory.mkdir()
    return GenerationRequest(
        prompt=prompt,
        model_options=options or {},
        format=format,
        directory=directory,
        working_directory=tmp_path,
        workflow_directory=tmp_path,
        marker=marker,
        key="wf_" + "0" * 47,
        grace_ms=5_000,
        environment=environment or {},
        masker=masker,
    )


def ask(agent: Agent, tmp_path: Path, prompt: str = "Say hello", **more: Any) -> Generation:
    return asyncio.run(agent.generate(make_request(tmp_path, prompt, **more)))


def refusal(agent: Agent, tmp_path: Path, *prompt: str, **more: Any) -> AgentError:
    with pytest.raises(AgentError) as caught:
        ask(agent, tmp_path, *prompt, **more)
    return caught.value
