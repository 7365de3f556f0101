"""An agent of kind `openai` in a file: where the endpoint is, which model, and in which variable the key is.

A key never stands in a file: neither as one, nor in the URL, nor where the name of its variable belongs; and what is
taken for one is not repeated in a message.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from hooks.definition.agent_fields import COMMON, REFERENCE, read_common, read_own_options, report_options
from hooks.definition.fields import Fields, Keys
from hooks.definition.model import OPENAI_INSTALL, OPENAI_OPTIONS, OpenAIAgent
from hooks.definition.tree import Node, Scalar, Source
from hooks.definition.values import read_bool, read_text, read_texts

OWN = frozenset({"base_url", "model", "api_key_env", "organization", "project", "stream", "options", "model_options"})
API_KEY = "a key never stands in a file: write `api_key_env:` with the name of the variable that has it"
_PUBLIC_URL = "https://api.openai.com/v1"
_PUBLIC_KEY = "OPENAI_API_KEY"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ENDING = "/chat/completions"


def openai_keys(later: frozenset[str], synonyms: dict[str, str], elsewhere: dict[str, str]) -> Keys:
    options = {
        name: f"write it as a model option: `model_options: {{{name}: …}}`" for name in OPENAI_OPTIONS - {"model"}
    }
    return Keys(
        "an openai agent",
        COMMON | OWN,
        later,
        synonyms,
        {**elsewhere, **options, "api_key": API_KEY},
    )


def read_openai_agent(fields: Fields, key: Scalar) -> OpenAIAgent | None:
    source = fields.source
    node = fields.require("model", "add the name of the model, as the endpoint knows it: `model: …`", at=key.start)
    model = _read_plain(source, node, "`model`") if node is not None else None
    known: dict[str, Any] = {"base_url": _PUBLIC_URL}
    if (node := fields.value("base_url")) is not None:
        known["base_url"] = _read_url(source, node)
    if (node := fields.value("api_key_env")) is not None:
        known["api_key_env"] = _read_variable(source, node)
    elif fields.value("base_url") is None:
        known["api_key_env"] = _PUBLIC_KEY
    for name in ("organization", "project"):
        if (node := fields.value(name)) is not None:
            known[name] = _read_plain(source, node, f"`{name}`")
    if (node := fields.value("stream")) is not None:
        known["stream"] = read_bool(source, node, "`stream`")
    if (node := fields.value("options")) is not None:
        known["options"] = read_texts(source, node, "`options`")
    known |= {"model_options": read_own_options(fields), **read_common(fields)}
    if model is None or known["base_url"] is None:
        return None
    known = {name: value for name, value in known.items() if value is not None}
    agent = OpenAIAgent(name=key.text, model=model, **known)
    report_options(source, fields.value("model_options"), agent)
    _look_around(source, key, fields, agent)
    return agent


def _read_plain(source: Source, node: Node, what: str) -> str | None:
    text = read_text(source, node, what)
    if text is not None and REFERENCE.search(text.replace("$${", "")):
        source.report(node, f"references do not work in {what} of an agent", "write the value itself")
        return None
    return text


def _read_url(source: Source, node: Node) -> str | None:
    url = _read_plain(source, node, "`base_url`")
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or True)
    except ValueError:
        is_one = False
    if not is_one:
        source.report(node, f"`base_url` is {url!r}, which is no URL", "write it like http://127.0.0.1:8080/v1")
        return None
    if parts.username is not None or parts.password is not None:
        source.report(node, "`base_url` holds a user or a password", f"remove it; {API_KEY}")
        return None
    if parts.query or parts.fragment:
        source.report(node, "`base_url` holds more than a host and a path", "end it before the `?` or `#`")
        return None
    if parts.path.rstrip("/").endswith(_ENDING):
        shorter = url.rstrip("/").removesuffix(_ENDING)
        source.report(node, f"`base_url` ends with {_ENDING}, which is added to it", f"write {shorter}")
        return None
    return url


def _read_variable(source: Source, node: Node) -> str | None:
    name = read_text(source, node, "`api_key_env`")
    if name is None:
        return None
    if not _VARIABLE.match(name):
        source.report(
            node,
            "`api_key_env` is no name of a variable",
            f"write the name of the variable that has the key, such as {_PUBLIC_KEY}; a key never stands in a file",
        )
        return None
    return name


def _look_around(source: Source, key: Scalar, fields: Fields, agent: OpenAIAgent) -> None:
    """Warn of what is missing here and may be there where the run will be."""
    if source.base is None:
        return
    if agent.api_key_env is not None and not os.environ.get(agent.api_key_env):
        source.warn(
            fields.value("api_key_env") or key,
            f"the variable {agent.api_key_env}, which has the key of the agent `{agent.name}`, is not set here",
            f"set it where the run is started: `export {agent.api_key_env}=…`",
        )
    if find_spec("openai") is None:
        source.warn(fields.value("kind") or key, "the package `openai` is not installed here", OPENAI_INSTALL)
