"""The input of `http`, checked as far as it is literal."""

from __future__ import annotations

from urllib.parse import urlsplit

from hooks.definition.fields import Fields, Keys, describe, read_fields
from hooks.definition.literals import BESIDE, check_durations, check_flags, is_computed, literal
from hooks.definition.tree import Mapping, Node, Scalar, Source
from hooks.definition.values import is_text, read_choice, read_text

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
HTTP_DURATIONS = ("timeout", "settle", "idempotency_ttl")
HTTP_KEYS = Keys(
    "the input of `http`",
    frozenset({"method", "url", "headers", "json", "body", "lookup", "idempotent", "follow_redirects"})
    | {*HTTP_DURATIONS, *(f"{name}_ms" for name in HTTP_DURATIONS)},
    elsewhere=BESIDE,
)
_LOOKUP_KEYS = Keys("`lookup`", frozenset({"method", "url", "headers"}))


def check_http(fields: Fields) -> None:
    source = fields.source
    _check_request(fields)
    if "json" in fields and "body" in fields:
        source.report(fields.key_place("body"), "the input of `http` has both `json` and `body`", "give one of the two")
    if (node := literal(fields, "body")) is not None:
        read_text(source, node, "`body`", blank=True)
    if (node := literal(fields, "lookup")) is not None:
        lookup = read_fields(source, node, _LOOKUP_KEYS, "`lookup`")
        if lookup is not None:
            _check_request(lookup)
    check_flags(fields, ("idempotent", "follow_redirects"))
    check_durations(fields, HTTP_DURATIONS)


def _check_request(fields: Fields) -> None:
    source = fields.source
    url = fields.require("url", "add `url: https://…`")
    if url is not None and not is_computed(url):
        _check_url(source, url)
    if (node := literal(fields, "method")) is not None and not _is_method(node):
        read_choice(source, node, "`method`", METHODS)
    if (node := literal(fields, "headers")) is not None:
        _check_headers(source, node)


def _check_url(source: Source, node: Node) -> None:
    url = read_text(source, node, "`url`")
    if url is None:
        return
    before_reference = url.split("${", 1)[0]
    if "://" not in before_reference and before_reference != url:
        return  # what a reference stands for may begin the address
    try:
        parts = urlsplit(url)
    except ValueError as error:
        source.report(node, f"`url` is {url!r}: {error}", "write it like https://example.org/path")
        return
    if parts.scheme not in ("http", "https") or not parts.netloc:
        source.report(node, f"`url` is {url!r}", "write it with its scheme: http://… or https://…")


def _check_headers(source: Source, node: Node) -> None:
    if not isinstance(node, Mapping):
        source.report(node, f"`headers` must be a mapping of names to texts, but is {describe(node)}")
        return
    for entry in node.entries:
        if not is_computed(entry.value) and not is_text(entry.value):
            source.report(
                entry.value,
                f"`headers.{entry.key.text}` must be text, but is {describe(entry.value)}",
                "write the text, in quotes if in doubt",
            )


def _is_method(node: Node) -> bool:
    return isinstance(node, Scalar) and (node.text.upper() in METHODS or "${" in node.text)
