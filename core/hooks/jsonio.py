"""JSON at the border: canonical bytes out, checked values in.

orjson is fast, but three things pass through it changed: NaN becomes null, an integer beyond 64 bit read from text
becomes a float, and an infinity likewise. Values are therefore refused here, with the path to the offending place.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

from hooks.errors import JsonBorderError, UsageError

MAX_DEPTH = 200  # orjson writes 254 levels; the envelope and blobs need a few
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_MAYBE_BIG = re.compile(rb"\d{19}")


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8, no final newline.

    Raises JsonBorderError for what JSON cannot carry. Floats are not checked here: `check` does that at the border.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError) as error:
        raise JsonBorderError(str(error)) from error


def parse(data: bytes) -> Any:
    """The value in `data`, exactly: what orjson would bend is refused. Raises JsonBorderError with the reason."""
    try:
        value = orjson.loads(data)
        if _MAYBE_BIG.search(data):
            # Read again with the digits kept, to see what the fast parser may have turned into a float.
            check(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise JsonBorderError(str(error)) from error
    return value


def parse_strict(data: bytes) -> Any:
    """As `parse`, for what a child wrote: an object in which a key stands twice is refused, too.

    Readers differ in which of the two counts, so that a text like that says different things to different programs.
    """
    value = parse(data)
    if not _has_surely_no_double_key(data, value):
        try:
            json.loads(data, object_pairs_hook=_without_double_keys)
        except (ValueError, RecursionError) as error:
            raise JsonBorderError(str(error)) from error
    return value


def carried_text(text: str) -> str:
    """The text as JSON can carry it: `?` for lone surrogates, as of file names that are no text."""
    return text.encode("utf-8", "replace").decode()


def _has_surely_no_double_key(data: bytes, value: Any) -> bool:
    """Tell by counting colons, which is far cheaper than looking at every object.

    A text has one colon for each key and those in its strings; the value loses at least one where it lost a key. Only a
    colon that is written as an escape could make up for that.
    """
    return b"\\u" not in data and data.count(b":") == canonical(value).count(b":")


def _without_double_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise JsonBorderError(f"the key {twice!r} stands twice in one object")
    return found


def check(value: Any) -> None:
    """Raise JsonBorderError unless `value` is plain JSON that survives a round trip unchanged. Never recurses."""
    stack: list[tuple[Any, str, int]] = [(value, "$", 0)]
    while stack:
        item, path, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise JsonBorderError(f"nested deeper than {MAX_DEPTH} levels")
        if item is None or isinstance(item, bool):
            continue
        if isinstance(item, str):
            _check_text(item, path)
        elif isinstance(item, int):
            if not _INT_MIN <= item <= _INT_MAX:
                raise JsonBorderError(f"{path}: an integer of {item.bit_length()} bits does not fit into 64 bit")
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise JsonBorderError(f"{path}: {float(item)} is not a JSON number")
        elif isinstance(item, dict):
            for key, child in item.items():
                if not isinstance(key, str):
                    raise JsonBorderError(f"{path}: a key is of type {type(key).__name__}, not a string")
                _check_text(key, path)
                stack.append((child, f"{path}.{key}", depth + 1))
        elif isinstance(item, list | tuple):
            stack.extend((child, f"{path}[{index}]", depth + 1) for index, child in enumerate(item))
        else:
            raise JsonBorderError(f"{path}: a {type(item).__name__} is not a JSON value")


def require(name: str, value: Any) -> None:
    """Raise UsageError that names what a caller has given, unless `check` lets it pass."""
    try:
        check(value)
    except JsonBorderError as error:
        raise UsageError(
            f"{name}: the log cannot carry it ({error}).", fix=f"Give {name} as plain JSON, its text as UTF-8."
        ) from error


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise JsonBorderError(f"{path}: a lone surrogate is not Unicode text") from error
