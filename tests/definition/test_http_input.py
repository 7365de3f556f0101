# ruff: noqa: E501  (a row of a table is one line)
"""The input of `http` as far as it shows without sending anything."""

from __future__ import annotations

import pytest

from hooks.definition.executor_inputs import bind_env, bind_input
from hooks.definition.model import HostExecutorNode
from hooks.expressions.scope import RunScope
from hooks.expressions.secrets import BoundInput
from tests.definition.builders import load, node, problem


def request(input_: str) -> str:
    return node(f"{{executor: http, secrets: [KEY], input: {input_}}}", head="params: {u: {}, n: {type: integer}}\n")


@pytest.mark.parametrize(
    "input_",
    [
        "{url: 'https://example.org'}",
        "{method: POST, url: 'http://127.0.0.1:8080/x', json: {a: [1]}, timeout: 30s, settle: 1m}",
        "{method: patch, url: '${params.u}', body: text, follow_redirects: true}",
        "{url: '${params.u}/x', headers: {n: 3, k: '${secrets.KEY}', r: {$ref: params.n}}}",
        "{url: 'https://x/${params.u}', lookup: {method: HEAD, url: 'https://x/{key}', headers: {a: b}}, idempotent: true, idempotencyTtl: 1h}",
        "{url: {$ref: params.u}, method: '${params.u}', json: null, headers: '${params.u}'}",
    ],
)  # fmt: skip
def test_a_request_is_accepted(input_: str) -> None:
    assert len(load(request(input_)).nodes) == 1


@pytest.mark.parametrize(
    ("input_", "message", "fix"),
    [
        ("{}", "the input of `http` has no `url`", "add `url: https://…`"),
        ("{url: example.org/x}", "`url` is 'example.org/x'", "write it with its scheme: http://… or https://…"),
        ("{url: 'ftp://example.org'}", "`url` is 'ftp://example.org'", None),
        ("{url: 'ftp://${params.u}'}", "`url` is 'ftp://${params.u}'", None),
        ("{url: 'https:///x'}", "`url` is 'https:///x'", None),
        ("{url: 'http://[::1'}", "`url` is 'http://[::1': Invalid IPv6 URL", None),
        ("{url: [x]}", "`url` must be text, but is a list", None),
        ("{url: 'http://x', method: PSOT}", "`method` must be one of `DELETE`, `GET`, `HEAD`, `OPTIONS`, `PATCH`, `POST`, `PUT`, but is the text 'PSOT'", "did you mean `POST`?"),
        ("{url: 'http://x', json: 1, body: x}", "the input of `http` has both `json` and `body`", "give one of the two"),
        ("{url: 'http://x', body: {a: 1}}", "`body` must be text, but is a mapping", None),
        ("{url: 'http://x', headers: [a]}", "`headers` must be a mapping of names to texts, but is a list", None),
        ("{url: 'http://x', headers: {a: [b]}}", "`headers.a` must be text, but is a list", None),
        ("{url: 'http://x', timeout: 3}", "`timeout` must be a duration such as 90s, but is the number `3`", "write `3s` for seconds"),
        ("{url: 'http://x', idempotent: 'yes'}", "`idempotent` must be true or false, but is the text 'yes'", None),
        ("{url: 'http://x', follow_redirect: true}", "unknown key `follow_redirect` in the input of `http`", "did you mean `follow_redirects`?"),
        ("{url: 'http://x', lookup: 'http://y'}", "`lookup` must be a mapping, but is the text 'http://y'", None),
        ("{url: 'http://x', lookup: {method: GET}}", "`lookup` has no `url`", None),
        ("{url: 'http://x', env: {}}", "`env` does not belong into the input of `http`", "it stands beside `input`, as a key of the node"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_request_is_one_message(input_: str, message: str, fix: str | None) -> None:
    found = problem(request(input_))

    assert found.message == message
    assert fix is None or found.fix == fix


def test_a_request_is_bound_around_its_secrets() -> None:
    text = request(
        "{url: 'https://x/${params.n}', headers: {Authorization: 'Bearer ${secrets.KEY}'}, json: {n: '${params.n}'}, body_: 1}".replace(
            ", body_: 1", ""
        )
    )
    [call] = load(text).nodes
    assert isinstance(call, HostExecutorNode)

    assert bind_input(call, SCOPE) == BoundInput(
        {"url": "https://x/3", "headers": {"Authorization": {"$secret": "Bearer ${KEY}"}}, "json": {"n": 3}},
        ("/headers/Authorization",),
    )


SCOPE = RunScope("r", {"n": 3, "u": "u"}, {"a"}, lambda _: None, lambda _: None, index=0, item="i")


def test_env_is_bound_to_texts_around_its_secrets() -> None:
    text = node(
        '{executor: shell, for_each: [1], secrets: [KEY], input: {argv: [x, "${item}"], stdin: "${secrets.KEY}"}, '
        'env: {N: "${params.n}", T: "${item}${index}", S: "${secrets.KEY}"}}',
        head="params: {n: {type: integer}}\n",
    )
    [call] = load(text).nodes
    assert isinstance(call, HostExecutorNode)

    assert bind_env(call, SCOPE) == BoundInput({"N": "3", "T": "i0", "S": {"$secret": "${KEY}"}}, ("/S",))
    assert bind_input(call, SCOPE) == BoundInput({"argv": ["x", "i"], "stdin": {"$secret": "${KEY}"}}, ("/stdin",))
